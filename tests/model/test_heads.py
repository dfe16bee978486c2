"""What parity cannot show of the heads: losses without logits, initial weights, bad input."""

import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForTokenClassification,
    BertModel,
    InputError,
)
from bertlab.model import losses as lean_loss
from bertlab.model.heads import labelled_positions
from tests.model.building import HEADS, build, gradients, masked_labels


@pytest.mark.parametrize("kind", [BertForPreTraining, BertForMaskedLM])
def test_masked_only_is_the_full_decoder_at_the_masked_positions(kind, config, batch):
    model = build(kind, config)
    labels = masked_labels(batch)
    name = "prediction_logits" if kind is BertForPreTraining else "logits"
    full = model(**batch, labels=labels, output_logits=True)
    some = model(**batch, labels=labels, masked_only=True)
    chosen = labels != -100
    assert getattr(full, name).shape == (3, 9, 61) and full.masked_labels is None
    torch.testing.assert_close(getattr(some, name), getattr(full, name)[chosen])
    assert some.masked_labels.equal(labels[chosen])
    torch.testing.assert_close(some.loss, full.loss)
    one, two = gradients(model, full.loss), gradients(model, some.loss)
    for parameter in one:
        torch.testing.assert_close(one[parameter], two[parameter])


@pytest.mark.parametrize("kind", [BertForPreTraining, BertForMaskedLM])
@pytest.mark.parametrize("rows", [1, 4, 100])
def test_with_labels_alone_the_loss_is_the_same_without_the_logits(rows, kind, config, batch, monkeypatch):
    monkeypatch.setattr(lean_loss, "CPU_ROWS", rows)
    model, inputs, name = build(kind, config), batch | {"labels": masked_labels(batch)}, "logits"
    if kind is BertForPreTraining:
        inputs, name = inputs | {"next_sentence_label": torch.tensor([0, 1, -100])}, "prediction_logits"
    full, lean = model(**inputs, output_logits=True), model(**inputs)
    assert getattr(lean, name) is None and full.masked_accuracy is None
    torch.testing.assert_close(lean.loss, full.loss)
    chosen = inputs["labels"] != -100
    assert lean.masked_labels.equal(inputs["labels"][chosen])
    right = (getattr(full, name).argmax(-1) == inputs["labels"])[chosen].double().mean()
    torch.testing.assert_close(lean.masked_accuracy, right)
    one, two = gradients(model, 3 * full.loss), gradients(model, 3 * lean.loss)
    for parameter in one:
        torch.testing.assert_close(one[parameter], two[parameter], msg=lambda m, n=parameter: f"{n}: {m}")


@given(count=st.integers(0, 700), step=st.integers(1, 5), even=st.sampled_from([1, 64]))
def test_portions_hold_every_row_once_and_few_sizes(count, step, even):
    portions = [range(count)[part] for part in lean_loss.portions(count, step * even, even)]
    assert [row for rows in portions for row in rows] == list(range(count)) and portions
    assert all(len(rows) == step * even or len(rows) % even == 0 for rows in portions[:-1])


@pytest.mark.parametrize("wanted", [{}, {"output_logits": True}, {"packed": False}, {"output_hidden_states": True}])
def test_padding_is_left_out_where_the_loss_is_all_that_is_asked_for(wanted, config, batch):
    model, seen = build(BertForPreTraining, config), []
    model.bert.encoder.layers[0].feed_forward.register_forward_hook(lambda _, given, out: seen.append(out.shape[:-1]))
    model(**batch, labels=masked_labels(batch), **wanted)
    assert seen == [(3, 9) if wanted else (int(batch["attention_mask"].sum()),)]


def test_without_gradients_the_loss_makes_none(config, batch, monkeypatch):
    model, labels = build(BertForPreTraining, config), masked_labels(batch)
    loss = model(**batch, labels=labels).loss
    monkeypatch.setattr(lean_loss, "Gradients", None)  # would fail if it were called
    with torch.no_grad():
        torch.testing.assert_close(model(**batch, labels=labels).loss, loss.detach())


def test_places_of_labels_can_be_told(config, batch):
    model, labels = build(BertForPreTraining, config), masked_labels(batch)
    positions = [row * 9 + column for row, column in (labels != -100).nonzero().tolist()]
    assert labelled_positions(labels).tolist() == positions
    told = model(**batch, labels=labels, labelled=torch.tensor(positions))
    torch.testing.assert_close(told.mlm_loss, model(**batch, labels=labels).mlm_loss)
    some = model(**batch, labels=labels, labelled=torch.tensor(positions[:2]))
    assert some.masked_labels.tolist() == labels.flatten()[positions[:2]].tolist()


def test_the_lean_loss_under_autocast(config, batch):
    """It is as near to the float32 gradients as the plain loss is under autocast."""
    model = build(BertForPreTraining, config).float()
    inputs = batch | {"labels": masked_labels(batch)}
    exact = every(gradients(model, model(**inputs, masked_only=True).loss))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        full, lean = model(**inputs, masked_only=True), model(**inputs)
    assert lean.loss.dtype == torch.float32
    torch.testing.assert_close(lean.loss, full.loss, rtol=2e-2, atol=0)
    plain, ours = ((every(gradients(model, out.loss)) - exact).norm() for out in (full, lean))
    assert plain < 0.1 * exact.norm() and ours < 1.5 * plain


def every(gradients):
    return torch.cat([gradient.flatten() for gradient in gradients.values()])


def test_the_lean_loss_of_an_impossible_label_is_exact(config, batch):
    """A score 200 below the others: the probability is 0 in float32, the gradient is as it should be."""
    model = build(BertForPreTraining, config).float()
    with torch.no_grad():
        model.mlm.decoder.bias[7] = -200
    inputs = batch | {"labels": torch.full_like(batch["input_ids"], 7)}
    full, lean = model(**inputs, masked_only=True), model(**inputs)
    assert lean.loss.item() > 190
    torch.testing.assert_close(lean.loss, full.loss)
    torch.testing.assert_close(every(gradients(model, lean.loss)), every(gradients(model, full.loss)))


@pytest.mark.parametrize("wanted", [{}, {"masked_only": True}, {"output_logits": True}])
def test_without_any_label_the_loss_is_zero(config, batch, wanted):
    labels = torch.full_like(batch["input_ids"], -100)
    for kind in (BertForPreTraining, BertForMaskedLM):
        model = build(kind, config)
        out = model(**batch, labels=labels, **wanted)
        assert out.loss.item() == 0.0 and not out.masked_accuracy
        assert all(not grad.any() for grad in gradients(model, out.loss).values())
    assert build(BertForTokenClassification, config)(**batch, labels=labels).loss.item() == 0.0


def test_pretraining_losses_add_up(config, batch):
    model = build(BertForPreTraining, config)
    labels, follows = masked_labels(batch), torch.tensor([0, 1, 0])
    both = model(**batch, labels=labels, next_sentence_label=follows)
    torch.testing.assert_close(both.loss, both.mlm_loss + both.nsp_loss)
    mlm, nsp = model(**batch, labels=labels), model(**batch, next_sentence_label=follows)
    torch.testing.assert_close(mlm.loss, both.mlm_loss)
    torch.testing.assert_close(nsp.loss, both.nsp_loss)
    assert mlm.nsp_loss is None and nsp.mlm_loss is None
    none = model(**batch)
    assert (none.loss, none.mlm_loss, none.nsp_loss) == (None, None, None)


def test_spans_outside_the_input_are_ignored(config, batch):
    model = build(BertForQuestionAnswering, config)
    beyond = torch.full((3,), 99)
    assert model(**batch, start_positions=beyond, end_positions=beyond).loss.item() == 0.0
    assert model(**batch, start_positions=torch.zeros(3, dtype=torch.long)).loss is None


def test_optional_outputs_come_only_when_asked_for(config, batch):
    for kind in (BertModel, *HEADS):
        out = kind(config)(**batch)
        assert out.hidden_states is None and out.attentions is None
        out = kind(config)(**batch, output_hidden_states=True, output_attentions=True)
        assert [len(out.hidden_states), len(out.attentions)] == [4, 3]


def test_initial_weights():
    torch.manual_seed(0)
    model = BertForPreTraining(BertConfig.from_size("tiny", vocab_size=3000))
    for name, parameter in model.named_parameters():
        if name.endswith("norm.weight"):
            assert (parameter == 1).all(), name
        elif name.endswith("bias"):
            assert not parameter.any(), name
        else:
            spread = 6 * 0.02 / math.sqrt(2 * parameter.numel())  # six standard errors
            assert parameter.std().item() == pytest.approx(0.02, abs=spread + 1e-4), name
            assert abs(parameter.mean().item()) < 6 * 0.02 / math.sqrt(parameter.numel()), name
    assert not model.bert.embeddings.word.weight[0].any()
    assert model.mlm.decoder.weight is model.bert.embeddings.word.weight
    # At the start every word is as likely as every other: loss ln V
    ids = torch.randint(5, 3000, (8, 32))
    assert model.eval()(ids, labels=ids).mlm_loss.item() == pytest.approx(math.log(3000), abs=0.15)


def test_a_copy_and_a_cast_keep_the_decoder_tied(config):
    model = BertForMaskedLM(config)
    for other in (copy.deepcopy(model), model.double()):
        assert other.mlm.decoder.weight is other.bert.embeddings.word.weight


# Bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(input_ids=torch.zeros(1, 17, dtype=torch.long)), "17 tokens.*16 at most"),
        (dict(input_ids=torch.full((3, 9), 61)), "input_ids holds 61.*vocab_size"),
        (dict(input_ids=torch.full((3, 9), -1)), "input_ids holds -1"),
        (dict(input_ids=torch.zeros(9, dtype=torch.long)), r"input_ids must be \(batch, tokens\)"),
        (dict(input_ids=torch.zeros(3, 0, dtype=torch.long)), "one token"),
        (dict(input_ids=torch.zeros(3, 9)), "whole numbers"),
        (dict(input_ids=torch.zeros(3, 9, dtype=torch.int16)), "int64 or int32, not torch.int16"),
        (dict(input_ids=[[2, 3]]), "input_ids must be a tensor, not a list"),
        (dict(input_ids=None), "input_ids are missing"),
        (dict(token_type_ids=torch.ones(3, 9)), "token_type_ids must be whole numbers"),
        (dict(head_mask=[[1] * 4] * 3), "head_mask must be a tensor"),
        (dict(labels=[[6] * 9] * 3), "labels must be a tensor"),
        (dict(labels=torch.ones(3, 9, dtype=torch.bool)), "labels must be whole numbers"),
        (dict(token_type_ids=torch.full((3, 9), 2)), "token_type_ids holds 2"),
        (dict(attention_mask=torch.ones(3, 8)), "attention_mask is"),
        (dict(token_type_ids=torch.ones(9, dtype=torch.long)), "token_type_ids is"),
        (dict(head_mask=torch.ones(4, 3)), r"head_mask must be \(layers, heads\) = \(3, 4\)"),
        (dict(labels=torch.full((3, 9), 61)), "labels holds 61"),
        (dict(labels=torch.full((3, 8), 6)), r"labels must be \(3, 9\), not \(3, 8\)"),
        (dict(labels=torch.full((3, 8), 6), masked_only=True), "labels must be"),
        (dict(next_sentence_label=torch.tensor([0, 1, 2])), "next_sentence_label holds 2.*IsNext"),
        (dict(next_sentence_label=torch.tensor([0, 1])), r"next_sentence_label must be \(3,\)"),
        (dict(masked_only=True), "masked_only needs labels"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_told_in_one_line(config, batch, change, words):
    model = BertForPreTraining(config).eval()
    inputs = change if "input_ids" in change else batch | change
    with pytest.raises(InputError, match=words) as caught:
        model(**inputs)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (torch.tensor([-1, 2, 0]), "start_positions holds -1.*no answer"),
        (torch.tensor([1.5, 2, 0]), "start_positions must be whole numbers"),
        (torch.tensor([[1, 2, 0]]), r"start_positions must be \(3,\)"),
        ([1, 2, 0], "start_positions must be a tensor"),
    ],
)
def test_bad_positions_of_an_answer(config, batch, start, words):
    with pytest.raises(InputError, match=words):
        BertForQuestionAnswering(config)(**batch, start_positions=start, end_positions=torch.tensor([2, 3, 0]))


def test_an_answer_that_is_ignored_is_no_answer_at_cls(config, batch):
    model, end = build(BertForQuestionAnswering, config), torch.tensor([2, -100, 3])
    out = model(**batch, start_positions=end, end_positions=end)
    expected = -sum(logits.log_softmax(-1)[[0, 2], [2, 3]].mean() for logits in (out.start_logits, out.end_logits)) / 2
    torch.testing.assert_close(out.loss, expected)


@pytest.mark.parametrize("kind", [torch.int32, torch.int16, torch.int8])
@pytest.mark.parametrize("options", [{}, {"output_logits": True}, {"masked_only": True}])
def test_labels_of_any_whole_number_type(config, batch, kind, options):
    model, labels = build(BertForPreTraining, config), torch.full((3, 9), -100)
    labels[0, 2], labels[2, 3] = 7, 9
    expected = model(**batch, labels=labels, **options).loss
    assert torch.equal(model(**batch, labels=labels.to(kind), **options).loss, expected)


@pytest.mark.parametrize("kind", [torch.float16, torch.float64, torch.int64, torch.bool])
def test_a_head_mask_of_another_type(config, batch, kind):
    model, head_mask = BertModel(config).eval(), torch.ones(3, 4)
    head_mask[1, 2] = 0
    expected = model(**batch, head_mask=head_mask).last_hidden_state
    assert torch.equal(model(**batch, head_mask=head_mask.to(kind)).last_hidden_state, expected)


def test_ids_are_not_looked_at_off_the_cpu(config):
    """Looking at values would make the CPU wait for the device; on "meta" there are no values at all."""
    with torch.device("meta"):
        model = BertForPreTraining(config)
        ids = torch.zeros(2, 9, dtype=torch.long)
        out = model(ids, torch.ones_like(ids), ids, labels=ids, output_logits=True)
    assert out.prediction_logits.shape == (2, 9, 61)
