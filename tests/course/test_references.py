"""The references of the exercises are right: they agree with the library, with torch, with what is published."""

import unicodedata

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertlab import BertConfig, BertModel, Tokenizer
from bertlab.course.chapter_03.exercises.waves import sinusoids
from bertlab.course.chapter_05.exercises.bert import count_parameters
from bertlab.course.chapter_05.exercises.layers import gelu, layer_norm
from bertlab.course.chapter_06.exercises.head import my_loss
from bertlab.course.observe import random_tensor
from bertlab.course.solutions import pretraining
from bertlab.course.solutions.tokenizer import clean
from bertlab.course.solutions.training import AdamW, rate_share
from bertlab.inputs.negatives import cut_lengths
from bertlab.tokenizer import SPECIAL_TOKENS
from bertlab.training.engine.optim import rate_factor
from bertlab.training.initial_weights import start_from_sinusoids


def test_cleaning_is_that_of_the_engine():
    normalizer = Tokenizer.from_vocab(SPECIAL_TOKENS, lowercase=True).backend.normalizer
    letters = "".join(map(chr, [*range(0x590), *range(0x1E00, 0x2070), *range(0x3000, 0x3500), *range(0xAC00, 0xD7A4)]))
    for text in ("café ﬁ ß", "हिन्दी", "cafe\u0301", "ΟΔΟΣ", "a\u2028b\x85c\ufffdd\ue000e", *letters):
        if not any(unicodedata.category(c) == "Cn" for c in text):  # may be newer than the engine
            assert clean(text) == normalizer.normalize_str(text), text


def test_waves_are_those_that_training_starts_from():
    table = torch.empty(20, 16)
    start_from_sinusoids(table, size=0.5**0.5)
    assert torch.allclose(table, sinusoids(20, 16, 1000.0), atol=1e-5)


@pytest.mark.parametrize("size", ["mini", "base"])
def test_parameters_are_those_of_the_library(size):
    config = BertConfig.from_size(size)
    with torch.device("meta"):
        assert count_parameters(config) == sum(parameter.numel() for parameter in BertModel(config).parameters())


def test_functions_are_those_of_torch():
    x, weight, bias = random_tensor(2, 3, 6), random_tensor(6, seed=1), random_tensor(6, seed=2)
    assert torch.allclose(gelu(x), F.gelu(x), atol=1e-6)
    assert torch.allclose(layer_norm(x, weight, bias, 0.1), F.layer_norm(x, (6,), weight, bias, 0.1), atol=1e-5)
    labels = torch.tensor([[1, -100, 0], [-100, 5, 2]])
    words, pairs, following = random_tensor(2, 3, 6), random_tensor(2, 2), torch.tensor([1, 0])
    each = F.cross_entropy(words.flatten(0, 1), labels.flatten()), F.cross_entropy(pairs, following)
    assert torch.allclose(my_loss(words, labels), each[0])
    assert torch.allclose(pretraining.joint_loss(words, pairs, labels, following), sum(each))


def test_the_rate_and_the_cut_are_the_librarys():
    assert [rate_share(p / 20, 0.25) for p in range(21)] == [rate_factor(p / 20, 0.25) for p in range(21)]
    for first, second, budget in ((12, 3, 10), (3, 12, 10), (9, 8, 10), (7, 7, 8), (20, 2, 6), (3, 4, 9)):
        cut = pretraining.cut_pair([0] * first, [0] * second, budget)
        assert tuple(map(len, cut)) == tuple(cut_lengths(first, second, budget))


def test_adamw_is_that_of_torch():
    torch.manual_seed(0)
    mine = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3))
    theirs = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3))
    theirs.load_state_dict(mine.state_dict())
    groups = [
        {"params": [p for p in theirs.parameters() if (p.ndim > 1) == matrix], "weight_decay": 0.2 * matrix}
        for matrix in (True, False)
    ]
    optimizer, other = AdamW(mine, (0.9, 0.98), 1e-6, 0.2), torch.optim.AdamW(groups, 0.1, (0.9, 0.98), 1e-6)
    for step in range(3):
        for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
            a.grad = random_tensor(*a.shape, seed=step)
            b.grad = a.grad.clone()
        optimizer.step(0.1)
        other.step()
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-5)
