"""The checkers of chapter 04 pass right answers and name the mistake of each known wrong one."""

import math

import pytest
import torch
from torch import nn

from bertlab.course import (
    Mistake,
    check_attend,
    check_heads,
    check_masked_weights,
    check_multi_head_attention,
    check_previous_head,
)
from bertlab.model.encoder import MultiHeadAttention

LOW = torch.finfo(torch.float32).min

# Scores, weights, context


def right_weights(q, k):
    return (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1)


def attend(weights):
    return lambda q, k, v: (weights(q, k) @ v, weights(q, k))


ATTEND_MISTAKES = {
    "two tensors": lambda q, k, v: right_weights(q, k) @ v,
    "not divided by": attend(lambda q, k: (q @ k.mT).softmax(-1)),
    "you divided by D": attend(lambda q, k: (q @ k.mT / q.size(-1)).softmax(-1)),
    "you multiplied": attend(lambda q, k: (q @ k.mT * math.sqrt(q.size(-1))).softmax(-1)),
    "root of S": attend(lambda q, k: (q @ k.mT / math.sqrt(q.size(-2))).softmax(-1)),
    "tokens that ask": attend(lambda q, k: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-2)),
    "key @ query": attend(lambda q, k: right_weights(k, q)),
    "these are the scores": attend(lambda q, k: q @ k.mT / math.sqrt(q.size(-1))),
    "one for each pair": attend(lambda q, k: right_weights(q, k)[..., :2, :]),
    "mixed the keys": lambda q, k, v: (right_weights(q, k) @ k, right_weights(q, k)),
    "weights are transposed": lambda q, k, v: (right_weights(q, k).mT @ v, right_weights(q, k)),
    "context should be": lambda q, k, v: (right_weights(q, k) @ v + 1, right_weights(q, k)),
    "must sum to one": attend(lambda q, k: (q @ k.mT / math.sqrt(q.size(-1))).exp()),
    r"works for one head.*Use `.mT`": attend(lambda q, k: (q @ k.transpose(0, 1) / math.sqrt(q.size(-1))).softmax(-1)),
    r"transpose\(0, 1\) swap the wrong": attend(lambda q, k: (q @ k.T / math.sqrt(q.size(-1))).softmax(-1)),
    "your code stopped": attend(lambda q, k: (q @ k / math.sqrt(q.size(-1))).softmax(-1)),
}


def attend_batches_alone(q, k, v):
    B, A, S, D = q.shape
    return attend(right_weights)(q, k, v)


def test_attend_right():
    check_attend(attend(right_weights))


@pytest.mark.filterwarnings("ignore:The use of `x.T`:UserWarning")
@pytest.mark.parametrize("words", ATTEND_MISTAKES)
def test_attend_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_attend(ATTEND_MISTAKES[words])


def test_code_for_batches_alone_is_told_what_stops_it():
    with pytest.raises(Mistake, match=r"one head alone, \(5, 16\).*not enough values to unpack"):
        check_attend(attend_batches_alone)


# The mask


def right_masked(scores, mask):
    return scores.masked_fill((mask == 0)[:, None, None], LOW).softmax(-1)


def in_place(scores, mask):
    return scores.masked_fill_((mask == 0)[:, None, None], LOW).softmax(-1)


def renormalised(scores, mask):
    weights = scores.softmax(-1) * mask[:, None, None]
    return weights / weights.sum(-1, keepdim=True)


MASK_MISTAKES = {
    "nothing was hidden": lambda s, m: s.softmax(-1),
    "after the softmax": lambda s, m: s.softmax(-1) * m[:, None, None],
    "has the score 0": lambda s, m: (s * m[:, None, None]).softmax(-1),
    "wrong way round": lambda s, m: s.masked_fill((m == 1)[:, None, None], LOW).softmax(-1),
    "you hid the rows": lambda s, m: s.masked_fill((m == 0)[:, None, :, None], LOW).softmax(-1),
    "rows of padding are hidden too": lambda s, m: s.masked_fill(
        (m[:, None, :, None] * m[:, None, None]) == 0, LOW
    ).softmax(-1),
    "added the mask": lambda s, m: (s + m[:, None, None]).softmax(-1),
    "became nan": lambda s, m: s.masked_fill((m == 0)[:, None, None], -math.inf).softmax(-1),
    "near -20,000": lambda s, m: s.masked_fill((m == 0)[:, None, None], -10000.0).softmax(-1),
    "it must get none": lambda s, m: s.masked_fill((m == 0)[:, None, None], -3.0).softmax(-1),
    "was given": in_place,
    "return the weights": lambda s, m: None,
    "your code stopped": lambda s, m: s.masked_fill(m == 0, LOW).softmax(-1),
}


def test_mask_right():
    check_masked_weights(right_masked)
    check_masked_weights(lambda s, m: (s + (1 - m[:, None, None]) * LOW).softmax(-1))


@pytest.mark.parametrize("words", MASK_MISTAKES)
def test_mask_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_masked_weights(MASK_MISTAKES[words])


def test_an_average_that_divides_by_nothing():
    with pytest.raises(Mistake, match="no sum that may be 0"):
        check_masked_weights(renormalised)


# Split and merge


def split(x, heads):
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).flatten(2)


HEAD_MISTAKES = {
    "you cut the sequence": (lambda x, A: x.view(x.size(0), A, x.size(1), -1), merge),
    "swap A and S, so": (lambda x, A: x.view(*x.shape[:2], A, -1), merge),
    "every A-th feature": (lambda x, A: x.view(*x.shape[:2], -1, A).permute(0, 3, 1, 2), merge),
    "should be": (lambda x, A: x[:, None].expand(-1, A, -1, -1), merge),
    "flattens before": (split, lambda x: x.reshape(x.size(0), x.size(2), -1)),
    "give": (split, lambda x: x.transpose(1, 2)),
    "undo": (split, lambda x: x.transpose(1, 2).flatten(2).flip(-1)),
    "your code stopped": (split, lambda x: x.transpose(1, 2).view(x.size(0), x.size(2), -1)),
}


def test_heads_right():
    check_heads(split, merge)


@pytest.mark.parametrize("words", HEAD_MISTAKES)
def test_heads_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_heads(*HEAD_MISTAKES[words])


# The module


class Right(nn.Module):
    hide, last = True, True

    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def parts(self, x):
        return self.qkv(x).view(*x.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)

    def merged(self, context):
        return context.transpose(1, 2).flatten(2)

    def scale(self, x, query):
        return math.sqrt(query.size(-1))

    def hidden(self, padding):
        return padding

    def forward(self, x, padding):
        query, key, value = self.parts(x)
        scores = query @ key.mT / self.scale(x, query)
        if padding is not None and self.hide:
            scores = scores.masked_fill(self.hidden(padding), LOW)
        weights = scores.softmax(-1)
        context = self.merged(self.dropout(weights) @ value)
        return (self.out(context) if self.last else context), weights


class Unscaled(Right):
    def scale(self, x, query):
        return 1


class ScaledByH(Right):
    def scale(self, x, query):
        return math.sqrt(x.size(-1))


class Inverted(Right):
    def hidden(self, padding):
        return ~padding


class NeedsPadding(Right):
    def forward(self, x, padding):
        return super().forward(x, padding.clone())


class Unmasked(Right):
    hide = False


class WithoutOut(Right):
    last = False


class HeadsFirst(Right):
    def parts(self, x):
        return self.qkv(x).view(*x.shape[:2], self.heads, 3, -1).permute(3, 0, 2, 1, 4)


class OneHead(Right):
    def parts(self, x):
        return self.qkv(x)[:, None].chunk(3, dim=-1)


class SequenceCut(Right):
    def parts(self, x):
        return [part.reshape(x.size(0), self.heads, x.size(1), -1) for part in self.qkv(x).chunk(3, dim=-1)]


class Unmerged(Right):
    def merged(self, context):
        return context.reshape(context.size(0), context.size(2), -1)


class Swapped(Right):
    def parts(self, x):
        query, key, value = super().parts(x)
        return key, query, value


class OtherNames(Right):
    def __init__(self, config):
        super().__init__(config)
        self.projection = self.qkv
        del self.qkv


class NoWeights(Right):
    def forward(self, x, padding):
        return super().forward(x, padding)[0]


class AlwaysMasked(Right):
    def forward(self, x, padding):
        if padding is None:
            padding = torch.arange(x.size(1))[None, None, None] > 3
        return super().forward(x, padding)


class NotBegun(Right):
    def forward(self, x, padding):
        raise NotImplementedError


class DropsOutput(Right):
    def forward(self, x, padding):
        output, weights = super().forward(x, padding)
        return self.dropout(output), weights


class DropsScores(Right):
    def forward(self, x, padding):
        query, key, value = self.parts(x)
        scores = self.dropout(query @ key.mT / self.scale(x, query))
        if padding is not None:
            scores = scores.masked_fill(padding, LOW)
        weights = scores.softmax(-1)
        return self.out(self.merged(weights @ value)), weights


class Undropped(Right):
    def __init__(self, config):
        super().__init__(config)
        self.dropout.p = 0.0


MODULE_MISTAKES = {
    Undropped: "in training nothing is dropped",
    DropsOutput: r"yours is on a tensor \(2, 6, 24\)",
    DropsScores: "you drop out scores",
    Unscaled: "not divided by",
    ScaledByH: "square root of H",
    Inverted: "True where a token must not",
    NeedsPadding: "only `if padding is not None`",
    Unmasked: "padding was not hidden",
    WithoutOut: "last product is missing",
    HeadsFirst: r"split as \(3, A, D\)",
    OneHead: "one head alone",
    SequenceCut: "cut the sequence",
    Unmerged: "before they were transposed",
    Swapped: "are swapped",
    OtherNames: "missing in yours: qkv.weight",
    NoWeights: "two tensors",
    AlwaysMasked: "nothing is hidden",
    NotBegun: "write your code in place of",
}


@pytest.mark.parametrize("right", [Right, MultiHeadAttention], ids=lambda cls: cls.__name__)
def test_module_right(right):
    class WithWeights(right):
        def forward(self, x, padding):
            return super().forward(x, padding)

    state = torch.get_rng_state()
    check_multi_head_attention(WithWeights)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("wrong", MODULE_MISTAKES, ids=lambda cls: cls.__name__)
def test_module_mistake(wrong):
    with pytest.raises(Mistake, match=MODULE_MISTAKES[wrong]):
        check_multi_head_attention(wrong)


# A head made by hand


def previous_head(positions, shift=-1, factor=200.0):
    size = len(positions)
    inverse = torch.linalg.pinv(positions)  # (H, S): positions @ inverse = identity
    wanted = torch.zeros(size, size)
    wanted[torch.arange(size), (torch.arange(size) + shift).clamp(0, size - 1)] = 1
    return factor * inverse @ wanted, inverse


PREVIOUS_MISTAKES = {
    "attends to the next": lambda p: previous_head(p, shift=1),
    "attends to itself": lambda p: previous_head(p, shift=0),
    "softly": lambda p: previous_head(p, factor=4.0),
    "not every token": lambda p: previous_head(p, shift=-2),
    "are nan": lambda p: previous_head(p, factor=math.inf),
    "both matrices": lambda p: tuple(matrix.T for matrix in previous_head(p)),
    "two matrices": lambda p: previous_head(p)[0],
}


def test_previous_right():
    check_previous_head(previous_head)


@pytest.mark.parametrize("words", PREVIOUS_MISTAKES)
def test_previous_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_previous_head(PREVIOUS_MISTAKES[words])
