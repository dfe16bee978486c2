"""The same numbers as transformers' BERT, for every output and every loss."""

import pytest
import torch

from bertlab import (
    BertConfig,
    BertForMultipleChoice,
    BertModel,
)
from tests.model.building import MODELS
from tests.model.parity.closeness import LIMITS, assert_close

transformers = pytest.importorskip("transformers")

SHAPES = {
    "usual": dict(hidden_size=24, num_hidden_layers=3, num_attention_heads=4, intermediate_size=40),
    "one head": dict(hidden_size=10, num_hidden_layers=1, num_attention_heads=1, intermediate_size=7),
    "odd heads": dict(hidden_size=15, num_hidden_layers=2, num_attention_heads=5, intermediate_size=60),
    "wide": dict(hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512),
    "gelu_new": dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, hidden_act="gelu_new"),
    "relu": dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, hidden_act="relu"),
    "segments": dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, type_vocab_size=4),
    "eps": dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, layer_norm_eps=0.1),
}
BOTH = dict(output_attentions=True, output_hidden_states=True)


def twins(kind, folder, dtype=torch.float64, std=0.05, **shape):
    """Their model with random weights (biases and LayerNorm too), and ours read from its folder."""
    torch.manual_seed(0)
    sizes = dict(vocab_size=61, max_position_embeddings=16) | shape
    theirs = getattr(transformers, kind.__name__)(transformers.BertConfig(**sizes, attn_implementation="eager")).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * std)
    theirs.save_pretrained(folder)
    return kind.from_pretrained(folder).to(dtype), theirs.to(dtype)


def assert_same(ours, theirs, dtype, *names):
    pairs = {}
    for name in names:
        one, other = getattr(ours, name), getattr(theirs, name)
        one, other = (one, other) if isinstance(one, tuple) else ((one,), (other,))
        pairs |= {f"{name} {n}": pair for n, pair in enumerate(zip(one, other, strict=True))}
    assert_close(pairs, dtype)


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_encoder(shape, dtype, batch, tmp_path):
    ours, theirs = twins(BertModel, tmp_path, dtype, **shape)
    names = ("last_hidden_state", "pooler_output", "hidden_states", "attentions")
    assert_same(ours(**batch, **BOTH), theirs(**batch, **BOTH), dtype, *names)
    assert_same(ours(**batch), theirs(**batch), dtype, *names[:2])  # the other attention path


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("given", [(), ("attention_mask",), ("token_type_ids",)], ids=str)
def test_defaults_of_mask_and_segments(given, dtype, batch, tmp_path):
    ours, theirs = twins(BertModel, tmp_path, dtype, **SHAPES["usual"])
    inputs = {name: batch[name] for name in ("input_ids", *given)}
    assert_same(ours(**inputs), theirs(**inputs), dtype, "last_hidden_state", "pooler_output")


@pytest.mark.parametrize("mask", ["left", "holes", "one row empty"])
def test_unusual_masks(mask, batch, tmp_path):
    ours, theirs = twins(BertModel, tmp_path, **SHAPES["usual"])
    pattern = {
        "left": [0, 0, 1, 1, 1, 1, 1, 1, 1],
        "holes": [1, 0, 1, 0, 1, 1, 0, 1, 1],
        "one row empty": [0] * 9,
    }
    batch["attention_mask"][1] = torch.tensor(pattern[mask])
    for wanted in (BOTH, {}):
        out = ours(**batch, **wanted)
        assert out.last_hidden_state.isfinite().all()
        assert_same(out, theirs(**batch, **wanted), torch.float64, "last_hidden_state")


@pytest.mark.parametrize("kind", MODELS)
def test_ours_opens_in_transformers(kind, config, batch, tmp_path):
    torch.manual_seed(3)
    ours = kind(config).eval()
    ours.save_pretrained(tmp_path)
    options = {"output_loading_info": True, "attn_implementation": "eager"}
    theirs, report = getattr(transformers, kind.__name__).from_pretrained(tmp_path, **options)
    assert not any(report.values()), report
    if kind is BertForMultipleChoice:
        batch = {name: tensor[None] for name, tensor in batch.items()}  # (B, S) -> (1, C, S)
    out = ours(**batch, **BOTH)
    filled = [name for name, value in vars(out).items() if value is not None]
    assert {"hidden_states", "attentions"} < {*filled}
    assert_same(out, theirs(**batch, **BOTH), torch.float32, *filled)


@pytest.mark.parametrize("kind", MODELS)
def test_ours_opens_in_automodel(kind, config, batch, tmp_path):
    ours = kind(config).eval()
    ours.save_pretrained(tmp_path)
    theirs = transformers.AutoModel.from_pretrained(tmp_path)
    assert type(theirs) is transformers.BertModel
    encoder = ours if kind is BertModel else ours.bert
    assert_same(encoder(**batch), theirs(**batch), torch.float32, "last_hidden_state")


def test_config_round_trip(config, checkpoint):
    theirs = transformers.AutoConfig.from_pretrained(checkpoint)
    assert {name: getattr(theirs, name) for name in config.to_dict()} == config.to_dict()
    assert BertConfig.from_dict(theirs.to_dict()) == config
