"""Fine-tuning to answer questions."""

import warnings
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import pytest
import torch

from bertlab import BertForPreTraining, BertForQuestionAnswering, InputError, Tokenizer
from bertlab.corpora.storyworld import questions
from bertlab.inputs.spans import span_features, usual_stride
from bertlab.training.finetune import batches, finetune_qa, span_loss, start_model


def weights(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def examples():
    return list(questions(0, 12))


def test_start_keeps_the_encoder_and_draws_the_head_from_the_seed(qa_recipe, pretrained):
    with warnings.catch_warnings(action="error"):  # that the head is new is no surprise here
        model = start_model(qa_recipe)
    encoder = weights(BertForPreTraining.from_pretrained(pretrained).bert)
    own = weights(model.bert)
    assert own.keys() <= encoder.keys() and all(torch.equal(own[name], encoder[name]) for name in own)
    torch.manual_seed(5)
    again, other = start_model(qa_recipe), start_model(replace(qa_recipe, seed=1))
    assert torch.equal(model.span.weight, again.span.weight)
    assert not torch.equal(model.span.weight, other.span.weight)
    assert float(model.span.weight.detach().std()) > 0


def test_three_steps(qa_recipe, examples, tmp_path):
    out = tmp_path / "run"
    result = finetune_qa(qa_recipe, examples, out=out, log_every=2, progress=False, device="cpu")
    assert [row["step"] for row in result.rows] == [2, 3]
    assert {"span_loss", "exact_span", "tokens_per_second"} <= set(result.rows[0])
    assert not result.model.training
    with warnings.catch_warnings(action="error"):
        saved = BertForQuestionAnswering.from_pretrained(out)
    assert same(weights(saved), weights(result.model))
    assert not same(weights(result.model), weights(start_model(qa_recipe)))
    assert Tokenizer.from_pretrained(out).vocab == result.tokenizer.vocab
    assert {"recipe.json", "metrics.csv"} <= {path.name for path in out.iterdir()}


def test_same_seed_same_weights_to_the_bit(qa_recipe):
    runs = []
    for state, recipe in ((1, qa_recipe), (2, qa_recipe), (1, replace(qa_recipe, seed=4))):
        torch.manual_seed(state)
        runs.append(weights(finetune_qa(recipe, progress=False, device="cpu").model))
    assert same(runs[0], runs[1]) and not same(runs[0], runs[2])


def test_batches_are_shuffled_and_have_no_end(qa_recipe, pretrained, examples):
    tok = Tokenizer.from_pretrained(pretrained)
    windows = len(span_features(examples, tok, qa_recipe.max_length, usual_stride(qa_recipe.max_length)))
    drawn = list(islice(batches(examples, tok, replace(qa_recipe, batch_size=1)), 2 * windows))
    assert set(drawn[0]) == {"input_ids", "token_type_ids", "attention_mask", "start_positions", "end_positions"}
    rows = [batch["input_ids"][0].tolist() for batch in drawn]
    one, other = rows[:windows], rows[windows:]
    assert sorted(one) == sorted(other) and one != other  # every window once in each epoch


def test_fewer_questions_than_a_batch(qa_recipe, examples):
    result = finetune_qa(qa_recipe, examples[:2], progress=False, device="cpu")
    assert result.rows[-1]["step"] == 3


def test_span_loss_is_the_mean_of_both_ends(qa_recipe, pretrained, examples):
    model, tok = start_model(qa_recipe), Tokenizer.from_pretrained(pretrained)
    batch = next(batches(examples, tok, qa_recipe))
    loss, watched = span_loss(model, batch)
    with torch.no_grad():
        out = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
    terms, exact = [], []
    for row in range(qa_recipe.batch_size):
        start, end = int(batch["start_positions"][row]), int(batch["end_positions"][row])
        logs = out.start_logits[row].log_softmax(-1), out.end_logits[row].log_softmax(-1)
        terms.append(-float(logs[0][start] + logs[1][end]) / 2)
        exact.append(int(logs[0].argmax()) == start and int(logs[1].argmax()) == end)
    assert loss.item() == pytest.approx(sum(terms) / len(terms), rel=1e-4)
    assert float(watched["exact_span"]) == pytest.approx(sum(exact) / len(exact))


def test_exact_span_needs_both_ends():
    def model(start_positions, end_positions):  # marks tokens 1 and 2 in every row
        start, end = torch.eye(4)[1].expand(4, 4), torch.eye(4)[2].expand(4, 4)
        return SimpleNamespace(loss=torch.tensor(0.0), start_logits=start, end_logits=end)

    wanted = {"start_positions": torch.tensor([1, 1, 0, 0]), "end_positions": torch.tensor([2, 3, 2, 0])}
    assert span_loss(model, wanted)[1]["exact_span"].item() == 0.25


def test_questions_without_an_answer_point_to_cls(pretrained):
    tok = Tokenizer.from_pretrained(pretrained)
    impossible = [example for example in questions(0, 40) if example.is_impossible]
    features = span_features(impossible, tok, 256, 128)
    assert all(feature.targets == {"start_positions": 0, "end_positions": 0} for feature in features)


def test_it_learns_a_few_questions_by_heart(qa_recipe, examples):
    recipe = replace(qa_recipe, steps=60, optim=replace(qa_recipe.optim, learning_rate=1e-2))
    rows = finetune_qa(recipe, examples[:4], log_every=10, progress=False, device="cpu").rows
    assert rows[-1]["span_loss"] < 0.7 * rows[0]["span_loss"]


def test_too_many_tokens(qa_recipe):
    with pytest.raises(InputError, match="max_length=257.*256 positions"):
        start_model(replace(qa_recipe, max_length=257))


def test_no_questions(qa_recipe, tmp_path):
    with pytest.raises(InputError, match="no question"):
        finetune_qa(qa_recipe, [], progress=False, device="cpu")


def test_no_such_model(qa_recipe):
    with pytest.raises(InputError, match="no-such-model"):
        finetune_qa(replace(qa_recipe, model="no-such-model"), progress=False, device="cpu")


def test_ctrl_c_saves_what_was_learned(qa_recipe, examples, tmp_path):
    def stop(row):
        raise KeyboardInterrupt

    recipe = replace(qa_recipe, steps=100)
    result = finetune_qa(recipe, examples, out=tmp_path / "run", log_every=2, on_log=stop, progress=False, device="cpu")
    assert [row["step"] for row in result.rows] == [2]
    assert same(weights(BertForQuestionAnswering.from_pretrained(tmp_path / "run")), weights(result.model))
