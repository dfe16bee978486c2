"""The checkers of chapter 05 pass right answers and name the mistake of each known wrong one."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertlab import BertModel
from bertlab.course import (
    Mistake,
    check_bert_model,
    check_count_parameters,
    check_gelu,
    check_layer,
    check_layer_norm,
)
from bertlab.model import encoder

# GELU


def phi(x):
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


GELU_MISTAKES = {
    "this is ReLU": F.relu,
    "probability alone": phi,
    "factor of one half": lambda x: 2 * x * phi(x),
    "the 1 is missing": lambda x: 0.5 * x * torch.erf(x / math.sqrt(2)),
    "x times erf": lambda x: x * torch.erf(x / math.sqrt(2)),
    "square root of 2": lambda x: 0.5 * x * (1 + torch.erf(x)),
    "times the density": lambda x: x * (-x.square() / 2).exp() / math.sqrt(2 * math.pi),
    "tanh approximation": lambda x: F.gelu(x, approximate="tanh"),
    "sigmoid approximation": lambda x: x * torch.sigmoid(1.702 * x),
    "this is SiLU": F.silu,
    "this is not x": lambda x: x * phi(x) + 1,
    "of the shape": lambda x: (x * phi(x)).sum(),
}


def test_gelu_right():
    check_gelu(lambda x: x * phi(x))


@pytest.mark.parametrize("words", GELU_MISTAKES)
def test_gelu_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_gelu(GELU_MISTAKES[words])


# LayerNorm


def norm(dims=(-1,), unbiased=False, root=True, outside=False, eps_factor=1.0):
    def fn(x, weight, bias, eps):
        mean, variance = x.mean(dims, keepdim=True), x.var(dims, keepdim=True, unbiased=unbiased)
        below = variance.sqrt() + eps if outside else variance + eps_factor * eps
        below = below.sqrt() if root and not outside else below
        return weight * (x - mean) / below + bias

    return fn


NORM_MISTAKES = {
    "divides by H - 1": norm(unbiased=True),
    "outside the root": norm(outside=True),
    "take its square root": norm(root=False),
    "eps is missing": norm(eps_factor=0.0),
    "batch normalisation": norm((0,)),
    "run over all tokens": norm((0, 1)),
    "tokens of a text": norm((1,)),
    "tokens and features": norm((1, 2)),
    "for all numbers of x": norm((0, 1, 2)),
    "weight and bias are missing": lambda x, w, b, eps: norm()(x, 1, 0, eps),
    "^bias is missing": lambda x, w, b, eps: norm()(x, w, 0, eps),
    "^weight is missing": lambda x, w, b, eps: norm()(x, 1, b, eps),
    "are swapped": lambda x, w, b, eps: norm()(x, b, w, eps),
    "RMSNorm": lambda x, w, b, eps: w * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + b,
    "became nan": lambda x, w, b, eps: norm()(x, w, b, eps if eps > 1e-3 else 0),
    "of the shape": lambda x, w, b, eps: x.mean(-1),
}


def test_norm_right():
    check_layer_norm(norm())


@pytest.mark.parametrize("words", NORM_MISTAKES)
def test_norm_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_layer_norm(NORM_MISTAKES[words])


# One layer


class RightLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = encoder.MultiHeadAttention(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.feed_forward = encoder.FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x, padding):
        attended, _ = self.attention(x, padding)
        return self.rest(x, attended)

    def rest(self, x, attended):
        x = self.attention_norm(x + self.dropout(attended))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


def layer(rest, base=RightLayer):
    return type("MyLayer", (base,), {"rest": rest})


class PreNorm(RightLayer):
    def forward(self, x, padding):
        x = x + self.attention(self.attention_norm(x), padding)[0]
        return x + self.feed_forward(self.feed_forward_norm(x))


class NoMask(RightLayer):
    def forward(self, x, padding):
        return super().forward(x, None)


class Unnamed(RightLayer):
    def __init__(self, config):
        super().__init__(config)
        self.ffn = self.feed_forward
        del self.feed_forward


class Straight(RightLayer):
    def __init__(self, config):
        super().__init__(config)
        self.feed_forward.activation = nn.Identity()


class Relu(RightLayer):
    def __init__(self, config):
        super().__init__(config)
        self.feed_forward.activation = nn.ReLU()


class MasksNothingGiven(RightLayer):
    def forward(self, x, padding):
        hide = torch.arange(x.size(1))[None, None, None] > 3
        return super().forward(x, hide if padding is None else padding)


class Undropped(RightLayer):
    def __init__(self, config):
        super().__init__(config)
        self.attention.dropout.p = self.dropout.p = 0.0


def _finished(self, x, middle):
    """With dropout on the second sublayer alone."""
    return self.feed_forward_norm(middle + self.dropout(self.feed_forward(middle)))


LAYER_MISTAKES = {
    "on both sublayers": layer(lambda self, x, attended: _finished(self, x, self.attention_norm(x + attended))),
    "in training nothing is dropped": Undropped,
    "pre-LN": PreNorm,
    "x is not added": layer(
        lambda m, x, a: m.feed_forward_norm(m.attention_norm(a) + m.feed_forward(m.attention_norm(a)))
    ),
    "feed-forward network is not added": layer(
        lambda m, x, a: m.feed_forward_norm(m.feed_forward(m.attention_norm(x + a)))
    ),
    "both residual": layer(lambda m, x, a: m.feed_forward_norm(m.feed_forward(m.attention_norm(a)))),
    "starts from the layer's input": layer(
        lambda m, x, a: m.feed_forward_norm(x + m.feed_forward(m.attention_norm(x + a)))
    ),
    "second LayerNorm is missing": layer(
        lambda m, x, a: m.attention_norm(x + a) + m.feed_forward(m.attention_norm(x + a))
    ),
    "first LayerNorm is missing": layer(lambda m, x, a: m.feed_forward_norm(x + a + m.feed_forward(x + a))),
    "used twice": layer(
        lambda m, x, a: m.attention_norm(m.attention_norm(x + a) + m.feed_forward(m.attention_norm(x + a)))
    ),
    "are swapped": layer(
        lambda m, x, a: m.attention_norm(m.feed_forward_norm(x + a) + m.feed_forward(m.feed_forward_norm(x + a)))
    ),
    "both LayerNorms": layer(lambda m, x, a: x + a + m.feed_forward(x + a)),
    "not one of their parts": layer(
        lambda m, x, a: x + m.attention_norm(a) + m.feed_forward_norm(m.feed_forward(x + m.attention_norm(a)))
    ),
    "not one of its parts": layer(lambda m, x, a: x + m.feed_forward_norm(m.feed_forward(m.attention_norm(x + a)))),
    "no activation": Straight,
    "uses ReLU": Relu,
    "no feed-forward network yet": layer(lambda m, x, a: m.attention_norm(x + a)),
    "missing in yours: feed_forward.up.weight": Unnamed,
    "padding was not hidden": NoMask,
    "output is not the library's": layer(lambda m, x, a: 2 * m.feed_forward_norm(x)),
    "with padding=None": MasksNothingGiven,
    "unpack them": layer(lambda m, x, a: (x, a)),
}


def test_layer_right():
    state = torch.get_rng_state()
    check_layer(RightLayer)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("words", LAYER_MISTAKES)
def test_layer_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_layer(LAYER_MISTAKES[words])


# Parameters


def count(config, pooler=True, biases=True, norms=True, per_head=False, last=0):
    H, W, L = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    b, n = int(biases), int(norms)
    tables = (config.vocab_size + config.max_position_embeddings + config.type_vocab_size) * H + 2 * H * n
    projections = 3 * (H * H + b * H) * (config.num_attention_heads if per_head else 1)
    one = projections + H * H + b * H + 2 * H * W + b * (W + H) + 4 * H * n
    return tables + L * one + (H * H + b * H if pooler else 0) + last


COUNT_MISTAKES = {
    "you forgot the pooler": lambda c: count(c, pooler=False),
    "you forgot all biases of linear maps": lambda c: count(c, biases=False),
    "you forgot all LayerNorms": lambda c: count(c, norms=False),
    "for every further head once too often": lambda c: count(c, per_head=True),
    "you forgot the table of segments": lambda c: count(c) - c.type_vocab_size * c.hidden_size,
    "you forgot both LayerNorms of each layer, or the biases of attention": (
        lambda c: count(c) - 4 * c.num_hidden_layers * c.hidden_size
    ),
    "you forgot the biases of queries, keys": lambda c: count(c) - 3 * c.num_hidden_layers * c.hidden_size,
    "you forgot the biases of the feed-forward": (
        lambda c: count(c) - c.num_hidden_layers * (c.hidden_size + c.intermediate_size)
    ),
    "you forgot the LayerNorm of the embeddings": lambda c: count(c) - 2 * c.hidden_size,
    "you counted the table of words": lambda c: count(c) + c.vocab_size * c.hidden_size,
    "1 too many": lambda c: count(c, last=1),
    "7 too few": lambda c: count(c, last=-7),
    "a whole number": lambda c: float(count(c)),
    "^your code stopped: .* has no attribute 'heads'": lambda c: c.heads,
}


def test_count_right():
    check_count_parameters(count)


@pytest.mark.parametrize("words", COUNT_MISTAKES)
def test_count_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_count_parameters(COUNT_MISTAKES[words])


# The whole


class RightBert(nn.Module):
    def __init__(self, config):
        super().__init__()
        library = BertModel(config)
        self.embeddings, self.encoder, self.pooler = library.embeddings, nn.Module(), library.pooler
        self.encoder.layers = nn.ModuleList(RightLayer(config) for _ in range(config.num_hidden_layers))

    def padding(self, mask):
        return (mask == 0)[:, None, None]

    def pool(self, hidden):
        return self.pooler(hidden)

    def forward(self, ids, mask, types):
        x = self.embeddings(ids, types)
        for block in self.encoder.layers:
            x = block(x, self.padding(mask))
        return x, self.pool(x)


class Repeated(RightBert):
    def __init__(self, config):
        super().__init__(config)
        self.encoder.layers = nn.ModuleList([RightLayer(config)] * config.num_hidden_layers)


class NoTypes(RightBert):
    def forward(self, ids, mask, types):
        return super().forward(ids, mask, torch.zeros_like(types))


class NoLayers(RightBert):
    def forward(self, ids, mask, types):
        x = self.embeddings(ids, types)
        return x, self.pool(x)


class HiddenAlone(RightBert):
    def forward(self, ids, mask, types):
        return super().forward(ids, mask, types)[0]


def bert(**methods):
    return type("MyBert", (RightBert,), methods)


BERT_MISTAKES = {
    "is one layer": Repeated,
    "token_type_ids are not used": NoTypes,
    "layers are not applied": NoLayers,
    "two tensors": HiddenAlone,
    "attention_mask is not used": bert(padding=lambda self, mask: None),
    "wrong way round": bert(padding=lambda self, mask: (mask == 1)[:, None, None]),
    "tanh is missing": bert(pool=lambda self, x: self.pooler.dense(x[:, 0])),
    "state of .CLS. itself": bert(pool=lambda self, x: x[:, 0]),
    "not the mean": bert(pool=lambda self, x: self.pooler.dense(x.mean(1)).tanh()),
    "not the last": bert(pool=lambda self, x: self.pooler.dense(x[:, -1]).tanh()),
    "not ReLU": bert(pool=lambda self, x: self.pooler.dense(x[:, 0]).relu()),
    "first token alone": bert(pool=lambda self, x: self.pooler.dense(x).tanh()),
    "pooler's output is not": bert(pool=lambda self, x: self.pooler(x) + 1),
}


def test_bert_right():
    check_bert_model(RightBert)


@pytest.mark.parametrize("words", BERT_MISTAKES)
def test_bert_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_bert_model(BERT_MISTAKES[words])
