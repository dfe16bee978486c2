import pytest
import torch
from torch import nn

from bertlab.explain.attribution import (
    FEW,
    STEPS,
    attribute_fill,
    attribute_span,
    attribute_text,
    attribute_word,
    integrated_gradients,
    label_score,
)
from bertlab.explain.labels import label_text, label_words
from bertlab.model.classifiers import ClassifierOutput

TEXT, PAIR = "my dog didn't cross the street.", "it was too tired."


@pytest.mark.parametrize("label", [None, 0, 1, 2])
def test_attributions_of_a_text_sum_to_the_way_from_the_baseline(classifier, tok, label):
    found = attribute_text(classifier, tok, TEXT, PAIR, label)
    probabilities = label_text(classifier, tok, TEXT, PAIR).prediction.probabilities
    p = list(probabilities.values())[label] if label is not None else max(probabilities.values())
    assert found.score == pytest.approx(torch.tensor(p).logit().item(), abs=1e-4)
    assert abs(found.score - found.baseline) > 0.05
    assert float(found.values.sum()) == pytest.approx(found.score - found.baseline, abs=5e-3)
    assert found.delta == pytest.approx(0, abs=5e-3)


def test_attributions_of_a_word(tagger, tok):
    labelled = label_words(tagger, tok, TEXT)
    attributions = [attribute_word(tagger, tok, TEXT, word) for word in range(len(labelled.spans))]
    assert all(abs(found.delta) < 5e-3 and found.tokens == labelled.tokens for found in attributions)
    for found, p in zip(attributions, labelled.prediction.probabilities, strict=True):
        assert found.score == pytest.approx(torch.tensor(p).logit().item(), abs=1e-4)


@pytest.mark.parametrize(
    ("problem", "labels"), [("regression", ["stars"]), ("multi_label_classification", ["a", "b", "c"])]
)
def test_labels_that_are_no_rivals(classifier, tok, problem, labels):
    model = variant(classifier, problem_type=problem, id2label=dict(enumerate(labels)))
    labelled = label_text(model, tok, TEXT)
    found = attribute_text(model, tok, TEXT)
    logits = model(**tok([TEXT])).logits[0].detach()
    assert labelled.label == (0 if problem == "regression" else int(logits.argmax()))
    assert found.score == pytest.approx(float(logits[labelled.label]), abs=1e-5)
    assert abs(found.delta) < 5e-3


def variant(model, **changes):
    torch.manual_seed(0)
    return type(model)(model.config.changed(**changes)).eval()


def test_attributions_of_a_fill(model, tok):
    batch = tok([TEXT.replace("street", "[MASK]")], [PAIR])
    position = batch["input_ids"][0].tolist().index(tok.mask_token_id)
    with torch.inference_mode():
        p = model(**batch).prediction_logits[0, position].softmax(-1)
    guess = int(p.argmax())
    found = attribute_fill(model, tok, batch, position, guess)
    assert found.score == pytest.approx(float(p[guess].logit()), abs=1e-4)
    assert abs(found.delta) < 5e-3 and abs(found.score - found.baseline) > 0.05
    assert found.tokens[position] == "[MASK]"


@pytest.mark.parametrize("span", [(7, 9), (0, 0)])
def test_attributions_of_an_answer(reader, tok, span):
    batch = tok(["what did he buy?"], ["he bought a gallon of milk."])
    with torch.inference_mode():
        out = reader(**batch)
    sure = out.start_logits[0].softmax(0)[span[0]].log() + out.end_logits[0].softmax(0)[span[1]].log()
    found = attribute_span(reader, tok, batch, *span)
    assert found.score == pytest.approx(float(sure), abs=1e-4)
    assert abs(found.delta) < 1e-2 and abs(found.score - found.baseline) > 0.05


def test_few_points_do_where_their_sum_is_exact(classifier, tok, monkeypatch):
    """As with random weights. Progress goes from none to all, whether few are enough or not."""

    def attributed():
        calls = []
        found = attribute_text(classifier, tok, TEXT, progress=lambda done, total: calls.append((done, total)))
        done = [number for number, _ in calls]
        assert done == sorted(set(done)) and done[0] == 0 and done[-1] == FEW + STEPS
        assert {total for _, total in calls} == {FEW + STEPS}
        return found, len(calls)

    few, little = attributed()
    monkeypatch.setattr("bertlab.explain.attribution.EXACT", -1)
    many, much = attributed()
    assert little == 2 and much > 8
    torch.testing.assert_close(few.values, many.values, atol=1e-5, rtol=1e-4)


class Stopped(Exception):
    pass


def test_stopping_leaves_the_model_as_it_was(classifier, tok):
    def stop(done, total):
        raise Stopped

    with pytest.raises(Stopped):
        attribute_text(classifier, tok, TEXT, progress=stop)
    assert not classifier.bert.embeddings.word._forward_hooks


def test_a_gap_is_seen_where_the_path_has_too_few_steps(classifier, tok, monkeypatch):
    exact = attribute_text(classifier, tok, TEXT)
    monkeypatch.setattr("bertlab.explain.attribution.EXACT", -1)
    monkeypatch.setattr("bertlab.explain.attribution.STEPS", 2)
    rough = attribute_text(classifier, tok, TEXT)
    assert abs(rough.delta) > 10 * abs(exact.delta)


class Linear(nn.Module):
    """Scores are a sum over the tokens' word embeddings: what each adds is known without any gradient."""

    def __init__(self, model):
        super().__init__()
        self.config, self.bert = model.config, model.bert
        torch.manual_seed(3)
        self.weight = nn.Parameter(torch.randn(48, model.config.hidden_size))  # (S, H)

    def forward(self, input_ids, attention_mask, token_type_ids):
        words = self.bert.embeddings.word(input_ids)  # (B, S) -> (B, S, H)
        shares = (words * self.weight[: words.size(1)] * attention_mask[..., None]).sum(-1)  # (B, S)
        total = shares.sum(-1)  # (B, S) -> (B,)
        return ClassifierOutput(torch.stack([total, -total], dim=-1))


def log_odds_of_first_class(model, batch):
    return label_score(model(**batch).logits, 0)


def test_a_linear_model_in_closed_form(classifier, tok):
    linear, batch = Linear(classifier), tok([TEXT])
    found = integrated_gradients(linear, tok, batch, log_odds_of_first_class)
    words = classifier.bert.embeddings.word.weight.detach()
    way = words[batch["input_ids"][0]] - words[tok.pad_token_id]  # (S, H)
    expected = 2 * (way * linear.weight.detach()[: len(way)]).sum(-1)  # (S,); the log-odds of t against -t are 2t
    expected[[0, -1]] = 0  # [CLS] and [SEP] are in the baseline too
    torch.testing.assert_close(found.values, expected, atol=1e-4, rtol=1e-4)


def test_tokens_that_cannot_matter_get_nothing(classifier, tok):
    found = attribute_text(classifier, tok, f"{TEXT} [PAD]")
    zeros = [token for token, value in zip(found.tokens, found.values.tolist(), strict=True) if value == 0]
    assert zeros == ["[CLS]", "[PAD]", "[SEP]"]
    batch = tok([TEXT])
    batch["attention_mask"][0, 4] = 0
    hidden = integrated_gradients(classifier, tok, batch, log_odds_of_first_class).values
    assert hidden[4] == 0 and hidden[5] != 0


def test_a_left_to_right_model_attributes_nothing_to_what_follows(tagger, tok):
    tagger = variant(tagger, is_decoder=True)
    word, position = 2, label_words(tagger, tok, TEXT).positions[2]
    values = attribute_word(tagger, tok, TEXT, word).values
    assert (values[1 : position + 1] != 0).all() and (values[position + 1 :] == 0).all()


@pytest.mark.parametrize("decoder", ["cnn", "crf"])
def test_heads_that_read_words(tagger, tok, decoder):
    assert abs(attribute_word(variant(tagger, token_decoder=decoder), tok, TEXT, 1).delta) < 5e-3


def test_twice_the_same_and_no_gradient_is_left(classifier, tok):
    first, second = (attribute_text(classifier, tok, TEXT) for _ in range(2))
    torch.testing.assert_close(first.values, second.values)
    assert not first.values.requires_grad
    assert all(parameter.grad is None for parameter in classifier.parameters())


def test_label_score():
    logits = torch.tensor([[1.0, 2.0, -1.0]])
    for label in range(3):
        assert torch.allclose(label_score(logits, label), logits.softmax(-1)[:, label].logit())
        assert torch.allclose(label_score(logits + 5, label), label_score(logits, label), atol=1e-5)
        assert label_score(logits, label, rivals=False) == logits[0, label]
    assert label_score(logits[:, :1], 0) == logits[0, 0]
