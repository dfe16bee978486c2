"""The library's weights in modules of the reader's: what fits is copied, what does not is named."""

import pytest
import torch
from torch import nn

from bertlab import BertConfig, BertForPreTraining, BertModel
from bertlab.course.matching import load_matching

CONFIG = BertConfig(
    vocab_size=60,
    hidden_size=24,
    num_hidden_layers=3,
    num_attention_heads=2,
    intermediate_size=40,
    max_position_embeddings=16,
)

LEAVES = ("weight", "bias")


def model(kind=BertForPreTraining, seed=0):
    torch.manual_seed(seed)
    return kind(CONFIG).eval()


def test_all_fits_and_computes_the_same():
    mine, theirs, ids = model(seed=1), model(seed=2), torch.arange(12).view(2, 6)
    report = load_matching(mine, theirs)
    assert report.complete and report.percent == 100
    assert repr(report) == f"100.0% matched: {report.total:,} of the library's {report.total:,} parameters"
    assert report.total == sum(p.numel() for p in theirs.parameters())
    torch.testing.assert_close(mine(ids).prediction_logits, theirs(ids).prediction_logits)


def test_the_library_keeps_its_own_copy():
    mine, theirs = model(seed=1), model(seed=2)
    load_matching(mine, theirs)
    before = theirs.nsp.bias.clone()
    nn.init.constant_(mine.nsp.bias, 7.0)
    assert torch.equal(theirs.nsp.bias, before)


def test_what_does_not_fit_is_named_and_left_alone():
    mine, theirs = model(BertModel, 1), model(BertModel, 2)
    for layer in mine.encoder.layers:
        layer.attention.query = layer.attention.qkv
        del layer.attention.qkv
    mine.pooler.dense = nn.Linear(24, 8)
    kept = mine.pooler.dense.weight.clone()
    report = load_matching(mine, theirs)
    assert not report.complete
    assert set(report.missing) == {f"encoder.layers.{i}.attention.qkv.{leaf}" for i in range(3) for leaf in LEAVES}
    assert report.misshapen["pooler.dense.weight"] == ((8, 24), (24, 24))
    assert torch.equal(mine.pooler.dense.weight, kept)
    lost = 3 * (72 * 24 + 72) + 24 * 24 + 24
    assert report.copied == report.total - lost
    assert repr(report).splitlines()[1:] == [
        "  missing in yours: encoder.layers.*.attention.qkv.weight (72, 24), 3 times",
        "  missing in yours: encoder.layers.*.attention.qkv.bias (72,), 3 times",
        "  only in yours: encoder.layers.*.attention.query.weight (72, 24), 3 times",
        "  only in yours: encoder.layers.*.attention.query.bias (72,), 3 times",
        "  another shape: pooler.dense.weight yours (8, 24), the library's (24, 24)",
        "  another shape: pooler.dense.bias yours (8,), the library's (24,)",
    ]


def test_one_bias_less_is_not_all():
    mine, theirs = nn.Linear(3000, 3000, bias=False), nn.Linear(3000, 3000)
    assert load_matching(mine, theirs).percent == 99.9


@pytest.mark.parametrize("tied", [True, False])
def test_a_tied_parameter_needs_one_place_and_may_have_two(tied):
    mine, theirs = model(seed=1), model(seed=2)
    if tied:
        del mine.mlm.decoder.weight  # a head that reads the word embeddings without keeping them
    else:
        mine.mlm.decoder.weight = nn.Parameter(torch.zeros(60, 24))
    report = load_matching(mine, theirs)
    assert report.complete and report.percent == 100
    assert torch.equal(mine.bert.embeddings.word.weight, theirs.mlm.decoder.weight)
