"""What parity cannot show of the encoder: padding, head_mask, autocast, limits of the input."""

import copy

import pytest
import torch

from bertlab import BertForQuestionAnswering, BertModel, InputError
from tests.model.building import HEADS, build


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
    body = knocked if kind is BertModel else knocked.bert
    for layer, row in zip(body.encoder.layers, scale, strict=True):
        layer.attention.out.weight.data *= row.repeat_interleave(6)  # H = 24 columns, 6 for each head
    ours, theirs = model(**batch, head_mask=scale), knocked(**batch)
    for name, value in vars(theirs).items():
        if value is not None:
            torch.testing.assert_close(getattr(ours, name), value)
    plain = model(**batch)
    first = next(iter(vars(plain)))
    if kind is not BertForQuestionAnswering:
        assert not torch.allclose(getattr(plain, first), getattr(ours, first))


def test_the_longest_input_fits(config):
    out = BertModel(config)(torch.zeros(1, 16, dtype=torch.long))
    assert out.last_hidden_state.shape == (1, 16, 24)


def test_one_segment_alone(config, batch):
    model = BertModel(config.changed(type_vocab_size=1)).eval()
    with pytest.raises(InputError, match="leave token_type_ids out"):
        model(**batch)
    del batch["token_type_ids"]
    assert model(**batch).last_hidden_state.shape == (3, 9, 24)


@pytest.mark.parametrize("odd", [-1e4, 0.5, float("nan")])
def test_a_mask_of_other_numbers_is_refused(odd, config, batch):
    """An additive mask, 0 at tokens and -10,000 at padding, would be read the wrong way round."""
    mask = batch["attention_mask"].float()
    BertModel(config)(batch["input_ids"], mask)
    mask[0, 0] = odd
    with pytest.raises(InputError, match="attention_mask must be 1 at tokens and 0 at padding"):
        BertModel(config)(batch["input_ids"], mask)


def test_a_mask_of_other_whole_numbers_is_refused(config, batch):
    for mask in (batch["attention_mask"] * 2, (1 - batch["attention_mask"]) * -10_000):
        with pytest.raises(InputError, match="attention_mask must be 1 at tokens and 0 at padding"):
            BertModel(config)(batch["input_ids"], mask)


@pytest.mark.parametrize("given", ["english", None, {"vocab_size": 9}])
def test_a_model_is_made_from_a_config(given):
    with pytest.raises(InputError, match=r"config must be a BertConfig.*BertModel\.from_pretrained"):
        BertModel(given)
