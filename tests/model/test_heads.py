"""What parity cannot show: attention paths, head_mask, masked_only, losses, initial weights, bad input."""

import copy
import math

import pytest
import torch

from bertlab import (
    BertConfig,
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    InputError,
)
from bertlab.model import lean_loss
from bertlab.model.classifiers import sequence_loss
from bertlab.model.encoder import MultiHeadAttention
from bertlab.model.heads import labelled_places
from bertlab.model.packing import Packing

HEADS = [BertForPreTraining, BertForMaskedLM, BertForQuestionAnswering]


def build(kind, config):
    torch.manual_seed(0)
    return kind(config).double().eval()


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def test_both_attention_paths_agree(config, batch):
    model = build(BertModel, config)
    fused, explicit = model(**batch), model(**batch, output_attentions=True)
    torch.testing.assert_close(fused.last_hidden_state, explicit.last_hidden_state)
    weights = torch.randn_like(fused.last_hidden_state)
    one = gradients(model, (fused.last_hidden_state * weights).sum() + fused.pooler_output.sum())
    two = gradients(model, (explicit.last_hidden_state * weights).sum() + explicit.pooler_output.sum())
    assert one.keys() == two.keys() == dict(model.named_parameters()).keys()
    for name in one:
        torch.testing.assert_close(one[name], two[name], msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize(
    ("training", "dropout", "wanted", "fused"),
    [(False, 0.1, {}, True), (True, 0.0, {}, True), (True, 0.1, {}, False), (False, 0.1, "attentions", False),
     (False, 0.1, "head_mask", False)],
)  # fmt: skip
def test_which_path_runs(config, batch, monkeypatch, training, dropout, wanted, fused):
    calls = []
    real = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        torch.nn.functional,
        "scaled_dot_product_attention",
        lambda *args, **kwargs: calls.append(1) or real(*args, **kwargs),
    )
    model = BertModel(BertConfig(**vars(config) | {"attention_probs_dropout_prob": dropout})).train(training)
    extra = {"attentions": dict(output_attentions=True), "head_mask": dict(head_mask=torch.ones(3, 4))}
    model(**batch, **(extra[wanted] if wanted else {}))
    assert bool(calls) == fused


def test_attentions_are_probabilities_before_dropout(config, batch):
    model = build(BertModel, config).train()
    for weights in model(**batch, output_attentions=True).attentions:
        assert weights.shape == (3, 4, 9, 9)
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4, 9, dtype=torch.float64))
        assert not weights[1, :, :, 4:].any()  # padding is never looked at


def test_padding_changes_nothing(config, batch):
    model = build(BertModel, config)
    alone = model(batch["input_ids"][1:2, :4])
    padded = model(**batch)
    torch.testing.assert_close(padded.last_hidden_state[1, :4], alone.last_hidden_state[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_row_of_padding_gives_numbers(config, batch, dtype):
    batch["attention_mask"][2] = 0
    for model in (BertModel(config).to(dtype).eval(), BertModel(config).to(dtype).train()):
        for wanted in (False, True):
            out = model(**batch, output_attentions=wanted)
            assert out.last_hidden_state.isfinite().all()


def test_autocast_gives_numbers(config, batch):
    model = BertModel(config).eval()
    exact = model(**batch).last_hidden_state
    batch["attention_mask"][2] = 0
    with torch.autocast("cpu", torch.bfloat16):
        for wanted in (False, True):
            out = model(**batch, output_attentions=wanted).last_hidden_state
            assert out.isfinite().all()
            torch.testing.assert_close(out[:2], exact[:2], rtol=0.2, atol=0.2)


@pytest.mark.parametrize("far", [3.0, 0.0])
def test_numbers_are_learned_exactly_under_autocast(far):
    """bfloat16 has no number between 1984 and 1992."""
    config = BertConfig(num_labels=1, problem_type="regression")
    with torch.autocast("cpu", torch.bfloat16):
        loss = sequence_loss(config, torch.full((2, 1), 1984.0, dtype=torch.bfloat16), torch.full((2,), 1984.0 + far))
    assert float(loss) == far**2


@pytest.mark.parametrize("kind", [BertModel, *HEADS])
def test_head_mask_is_the_heads_columns_of_the_output_projection(kind, config, batch):
    model = build(kind, config)
    knocked = copy.deepcopy(model)
    scale = torch.ones(3, 4, dtype=torch.float64)
    scale[0, 1], scale[2, 3], scale[1, 0] = 0, 0, 0.5
    encoder = knocked if kind is BertModel else knocked.bert
    for layer, row in zip(encoder.encoder.layers, scale, strict=True):
        layer.attention.out.weight.data *= row.repeat_interleave(6)  # H = 24 columns, 6 for each head
    ours, theirs = model(**batch, head_mask=scale), knocked(**batch)
    for name, value in vars(theirs).items():
        if value is not None:
            torch.testing.assert_close(getattr(ours, name), value)
    plain = model(**batch)
    first = next(iter(vars(plain)))
    if kind is not BertForQuestionAnswering:
        assert not torch.allclose(getattr(plain, first), getattr(ours, first))


def test_head_mask_of_ones_changes_nothing(config, batch):
    model = build(BertModel, config)
    masked = model(**batch, head_mask=torch.ones(3, 4, dtype=torch.float64))
    torch.testing.assert_close(masked.last_hidden_state, model(**batch).last_hidden_state)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("wanted", [{}, {"output_hidden_states": True}, {"output_attentions": True}, "head_mask"])
@pytest.mark.parametrize("lengths", [(4, 9, 1), (9, 9, 9), (2, 2, 2)])
def test_packed_is_the_same_without_the_padding(lengths, wanted, nested, config, batch, monkeypatch):
    monkeypatch.setattr(MultiHeadAttention, "_nested_is_faster", lambda *_: nested)  # as on a GPU
    model = build(BertModel, config)
    mask = (torch.arange(9) < torch.tensor(lengths)[:, None]).long()
    if wanted == "head_mask":
        wanted = {"head_mask": torch.rand(config.num_hidden_layers, config.num_attention_heads).double()}
    inputs = batch | {"attention_mask": mask} | wanted
    padded, packed = model(**inputs), model(**inputs, packed=True)
    real = mask[:, :, None].double()
    pairs = list(zip(padded.hidden_states or (), packed.hidden_states or (), strict=True))
    for one, two in [(padded.last_hidden_state, packed.last_hidden_state), *pairs]:
        torch.testing.assert_close(one * real, two)
    assert (padded.attentions is None) == (packed.attentions is None)
    for one, two in zip(padded.attentions or (), packed.attentions or (), strict=True):
        torch.testing.assert_close(one * real[:, None], two * real[:, None])  # a padded token asks nothing
    weights = torch.randn_like(real)
    one = gradients(model, (padded.last_hidden_state * weights * real).sum() + padded.pooler_output.sum())
    two = gradients(model, (packed.last_hidden_state * weights * real).sum() + packed.pooler_output.sum())
    for name in one:
        torch.testing.assert_close(one[name], two[name], msg=lambda m, n=name: f"{n}: {m}")


def test_a_packing_made_before_is_taken(config, batch):
    model, packing = build(BertModel, config), Packing(batch["attention_mask"])
    given = model(**batch, packed=packing.to(torch.device("cpu")))
    assert given.last_hidden_state.equal(model(**batch, packed=True).last_hidden_state)


def test_gradient_checkpointing_changes_nothing_but_memory(config, batch):
    """With dropout, whose draws are repeated too."""
    model = build(BertForPreTraining, config).train()
    inputs = batch | {"labels": masked_labels(batch)}
    calls = []

    def step():
        torch.manual_seed(0)
        return gradients(model, model(**inputs, loss_only=True, packed=True).loss)

    model.bert.encoder.layers[0].register_forward_pre_hook(lambda *_: calls.append(1))
    one = step()
    model.bert.encoder.gradient_checkpointing = True
    two = step()
    assert len(calls) == 3  # once, and once again for the gradient
    for name in one:
        torch.testing.assert_close(one[name], two[name], msg=lambda m, n=name: f"{n}: {m}")


def test_packed_text_does_no_work_on_padding(config, batch):
    model, seen = build(BertModel, config), []
    model.encoder.layers[0].feed_forward.register_forward_hook(lambda _, given, out: seen.append(out.shape))
    model(**batch, packed=True)
    assert seen == [(int(batch["attention_mask"].sum()), config.hidden_size)]


def masked_labels(batch):
    return torch.where(batch["input_ids"] % 3 == 0, batch["input_ids"], -100)


@pytest.mark.parametrize("kind", [BertForPreTraining, BertForMaskedLM])
def test_masked_only_is_the_full_decoder_at_the_masked_positions(kind, config, batch):
    model = build(kind, config)
    labels = masked_labels(batch)
    name = "prediction_logits" if kind is BertForPreTraining else "logits"
    full, some = model(**batch, labels=labels), model(**batch, labels=labels, masked_only=True)
    chosen = labels != -100
    assert getattr(full, name).shape == (3, 9, 61) and full.masked_labels is None
    torch.testing.assert_close(getattr(some, name), getattr(full, name)[chosen])
    assert some.masked_labels.equal(labels[chosen])
    torch.testing.assert_close(some.loss, full.loss)
    one, two = gradients(model, full.loss), gradients(model, some.loss)
    for parameter in one:
        torch.testing.assert_close(one[parameter], two[parameter])


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_loss_only_is_the_same_without_the_logits(rows, config, batch, monkeypatch):
    monkeypatch.setattr(lean_loss, "ROWS", rows)
    model = build(BertForPreTraining, config)
    inputs = batch | {"labels": masked_labels(batch), "next_sentence_label": torch.tensor([0, 1, -100])}
    full, lean = model(**inputs, masked_only=True), model(**inputs, loss_only=True)
    assert lean.prediction_logits is None and full.masked_accuracy is None
    torch.testing.assert_close(lean.masked_labels, full.masked_labels)
    torch.testing.assert_close(lean.mlm_loss, full.mlm_loss)
    right = (full.prediction_logits.argmax(-1) == full.masked_labels).double().mean()
    torch.testing.assert_close(lean.masked_accuracy, right)
    one, two = gradients(model, 3 * full.loss), gradients(model, 3 * lean.loss)
    for name in one:
        torch.testing.assert_close(one[name], two[name], msg=lambda m, n=name: f"{n}: {m}")


def test_places_of_labels_can_be_told(config, batch):
    model, labels = build(BertForPreTraining, config), masked_labels(batch)
    places = [row * 9 + column for row, column in (labels != -100).nonzero().tolist()]
    assert labelled_places(labels).tolist() == places
    told = model(**batch, labels=labels, labelled=torch.tensor(places), loss_only=True)
    assert told.mlm_loss.equal(model(**batch, labels=labels, loss_only=True).mlm_loss)
    some = model(**batch, labels=labels, labelled=torch.tensor(places[:2]), loss_only=True)
    assert some.masked_labels.tolist() == labels.flatten()[places[:2]].tolist()


def test_loss_only_of_a_batch_without_labels_is_zero(config, batch):
    model = build(BertForPreTraining, config)
    out = model(**batch, labels=torch.full_like(batch["input_ids"], -100), loss_only=True)
    assert out.mlm_loss.item() == out.masked_accuracy.item() == 0.0
    assert not any(gradient.any() for gradient in gradients(model, out.mlm_loss).values())
    with pytest.raises(InputError, match="needs labels"):
        model(**batch, loss_only=True)


def test_loss_only_under_autocast(config, batch):
    """It is as near to the float32 gradients as the plain loss is under autocast."""
    model = build(BertForPreTraining, config).float()
    inputs = batch | {"labels": masked_labels(batch)}
    exact = every(gradients(model, model(**inputs, masked_only=True).loss))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        full, lean = model(**inputs, masked_only=True), model(**inputs, loss_only=True)
    assert lean.loss.dtype == torch.float32
    torch.testing.assert_close(lean.loss, full.loss, rtol=2e-2, atol=0)
    plain, ours = ((every(gradients(model, out.loss)) - exact).norm() for out in (full, lean))
    assert plain < 0.1 * exact.norm() and ours < 1.5 * plain


def every(gradients):
    return torch.cat([gradient.flatten() for gradient in gradients.values()])


def test_loss_only_of_an_impossible_label_is_large_and_finite(config, batch):
    """A score 200 below the others: the probability is 0 in float32, the gradient is as it should be."""
    model = build(BertForPreTraining, config).float()
    with torch.no_grad():
        model.mlm.decoder.bias[7] = -200
    inputs = batch | {"labels": torch.full_like(batch["input_ids"], 7)}
    full, lean = model(**inputs, masked_only=True), model(**inputs, loss_only=True)
    assert 80 < lean.loss.item() < full.loss.item()
    torch.testing.assert_close(every(gradients(model, lean.loss)), every(gradients(model, full.loss)))


def test_mlm_loss_is_the_mean_over_labelled_positions(config, batch):
    model = build(BertForMaskedLM, config)
    labels = masked_labels(batch)
    out = model(**batch, labels=labels)
    wanted = [
        -out.logits[row, column].log_softmax(-1)[labels[row, column]]
        for row, column in (labels != -100).nonzero().tolist()
    ]
    torch.testing.assert_close(out.loss, torch.stack(wanted).mean())


@pytest.mark.parametrize("masked_only", [False, True])
def test_without_any_label_the_loss_is_zero(config, batch, masked_only):
    labels = torch.full_like(batch["input_ids"], -100)
    for kind in (BertForPreTraining, BertForMaskedLM):
        model = build(kind, config)
        loss = model(**batch, labels=labels, masked_only=masked_only).loss
        assert loss.item() == 0.0
        assert all(not grad.any() for grad in gradients(model, loss).values())


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


def test_next_sentence_label_zero_counts(config, batch):
    model = build(BertForPreTraining, config)
    logits = model(**batch).seq_relationship_logits
    loss = model(**batch, next_sentence_label=torch.zeros(3, dtype=torch.long)).loss
    torch.testing.assert_close(loss, -logits.log_softmax(-1)[:, 0].mean())


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


def test_it_learns_by_heart(config):
    torch.manual_seed(0)
    model = BertForMaskedLM(BertConfig(**vars(config) | {"initializer_range": 0.05}))
    ids = torch.randint(5, 61, (4, 9))
    hidden = torch.where(torch.arange(9) % 3 == 1, 4, ids)
    labels = torch.where(hidden == 4, ids, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(120):
        loss = model(hidden, labels=labels, masked_only=True).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1


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


def test_the_longest_input_fits(config):
    out = BertModel(config)(torch.zeros(1, 16, dtype=torch.long))
    assert out.last_hidden_state.shape == (1, 16, 24)


def test_ids_are_not_looked_at_off_the_cpu(config):
    """Looking at values would make the CPU wait for the device; on "meta" there are no values at all."""
    with torch.device("meta"):
        model = BertForPreTraining(config)
        ids = torch.zeros(2, 9, dtype=torch.long)
        out = model(ids, torch.ones_like(ids), ids, labels=ids)
    assert out.prediction_logits.shape == (2, 9, 61)


# The classifiers


def test_labels_that_are_ignored_do_not_count(config, batch):
    model = build(BertForTokenClassification, config)
    labels = torch.full((3, 9), -100)
    labels[0, 2], labels[2, 5] = 1, 0
    out = model(**batch, labels=labels)
    scores = out.logits.log_softmax(-1)
    torch.testing.assert_close(out.loss, -(scores[0, 2, 1] + scores[2, 5, 0]) / 2)
    assert model(**batch, labels=torch.full((3, 9), -100)).loss.item() == 0.0


def test_a_choice_is_scored_alone(config, batch):
    model = build(BertForMultipleChoice, config)
    together = model(**{name: tensor[None] for name, tensor in batch.items()}).logits  # (1, 3)
    for number in range(3):
        row = {name: tensor[None, number : number + 1] for name, tensor in batch.items()}
        torch.testing.assert_close(model(**row).logits[0, 0], together[0, number])


def test_classifier_dropout(config):
    assert BertForTokenClassification(config).dropout.p == 0.1
    assert BertForTokenClassification(config.changed(classifier_dropout=0.0)).dropout.p == 0.0


@pytest.mark.parametrize(
    ("kind", "labels", "words"),
    [
        (BertForSequenceClassification, torch.tensor([0, 1, 2]), "labels holds 2.*num_labels"),
        (BertForSequenceClassification, torch.tensor([0, 1]), r"labels must be \(3,\)"),
        (BertForSequenceClassification, torch.zeros(3, 3), r"labels for multi_label.* must be \(3, 2\)"),
        (BertForTokenClassification, torch.zeros(3, dtype=torch.long), r"labels must be \(3, 9\)"),
        (BertForTokenClassification, torch.zeros(3, 9), "whole numbers"),
        (BertForNextSentencePrediction, torch.tensor([0, 1, 2]), "labels holds 2.*IsNext"),
        (BertForMultipleChoice, None, r"must be \(batch, choices, tokens\)"),
    ],
    ids=str,
)
def test_bad_labels_are_told_in_one_line(kind, labels, words, config, batch):
    with pytest.raises(InputError, match=words) as caught:
        kind(config)(**batch, labels=labels)
    assert "\n" not in str(caught.value)


def test_one_segment_alone(config, batch):
    model = BertModel(config.changed(type_vocab_size=1)).eval()
    with pytest.raises(InputError, match="leave token_type_ids out"):
        model(**batch)
    del batch["token_type_ids"]
    assert model(**batch).last_hidden_state.shape == (3, 9, 24)
