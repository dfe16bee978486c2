"""What parity cannot show of the encoder: attention paths, padding, head_mask, packed rows, gradient checkpointing."""

import copy

import pytest
import torch
from building import HEADS, build, gradients, masked_labels

from bertlab import (
    BertConfig,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertModel,
    InputError,
)
from bertlab.model.encoder import MultiHeadAttention
from bertlab.model.fast import Packing


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
        return gradients(model, model(**inputs, packed=True).loss)

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


def test_the_longest_input_fits(config):
    out = BertModel(config)(torch.zeros(1, 16, dtype=torch.long))
    assert out.last_hidden_state.shape == (1, 16, 24)


def test_one_segment_alone(config, batch):
    model = BertModel(config.changed(type_vocab_size=1)).eval()
    with pytest.raises(InputError, match="leave token_type_ids out"):
        model(**batch)
    del batch["token_type_ids"]
    assert model(**batch).last_hidden_state.shape == (3, 9, 24)
