"""A model that reads from left to right (is_decoder): transformers' numbers, and nothing comes from the right."""

import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from bertlab import BertConfig, BertForPreTraining, BertModel
from tests.conftest import tries
from tests.model.parity.test_parity import BOTH, SHAPES, assert_same, twins

transformers = pytest.importorskip("transformers")
NAMES = ("last_hidden_state", "pooler_output", "hidden_states", "attentions")


def build(kind, config):
    torch.manual_seed(0)
    return kind(config.changed(is_decoder=True)).double().eval()


@pytest.mark.parametrize("shape", ["usual", "odd heads", "wide"])
def test_the_same_numbers_as_transformers(shape, batch, tmp_path):
    ours, theirs = twins(BertModel, tmp_path, is_decoder=True, **SHAPES[shape])
    assert ours.config.is_decoder
    assert_same(ours(**batch, **BOTH), theirs(**batch, **BOTH), torch.float64, *NAMES)
    for inputs in (batch, {"input_ids": batch["input_ids"]}):  # the other attention path; without a mask too
        assert_same(ours(**inputs), theirs(**inputs), torch.float64, *NAMES[:2])


def test_ours_opens_in_transformers(config, batch, tmp_path):
    ours = build(BertForPreTraining, config)
    ours.save_pretrained(tmp_path)
    theirs = transformers.BertForPreTraining.from_pretrained(tmp_path).double()
    assert_same(ours(**batch), theirs(**batch), torch.float64, "prediction_logits", "seq_relationship_logits")


def test_config_keeps_it(config, tmp_path):
    build(BertForPreTraining, config).save_pretrained(tmp_path)
    assert BertConfig.from_pretrained(tmp_path) == config.changed(is_decoder=True) != config
    assert not BertConfig.from_dict({"model_type": "bert"}).is_decoder


@tries(30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    position=st.integers(1, 8),
    seed=st.integers(0, 999),
    packed=st.booleans(),
    masked=st.booleans(),
    wanted=st.sampled_from([{}, {"output_attentions": True}, {"head_mask": torch.ones(3, 4).double()}]),
    train=st.booleans(),
)
def test_nothing_comes_from_the_right(position, seed, packed, masked, wanted, train, config, batch):
    model = build(BertModel, config.changed(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)).train(train)
    inputs = dict(batch) if masked else {"input_ids": batch["input_ids"]}
    changed = inputs["input_ids"].clone()
    changed[:, position:] = torch.randint(
        61, changed[:, position:].shape, generator=torch.Generator().manual_seed(seed)
    )
    changed[:, position] = (inputs["input_ids"][:, position] + 1) % 61  # the nearest one is another word for sure
    one = model(**inputs, packed=packed, **wanted).last_hidden_state
    other = model(**(inputs | {"input_ids": changed}), packed=packed, **wanted).last_hidden_state
    torch.testing.assert_close(one[:, :position], other[:, :position], rtol=0, atol=1e-12)
    assert not torch.equal(one[0, position:], other[0, position:])  # row 0 has no padding


@pytest.mark.parametrize("wanted", [{}, {"output_attentions": True}], ids=["fused", "explicit"])
def test_packed_is_the_same_without_the_padding(wanted, config, batch):
    model, real = build(BertModel, config), batch["attention_mask"].bool()
    padded, packed = (model(**batch, **wanted, packed=packed).last_hidden_state for packed in (False, True))
    torch.testing.assert_close(padded[real], packed[real])
    assert not packed[~real].any()
