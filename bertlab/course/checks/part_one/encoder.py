"""Checkers of the encoder's parts: GELU, LayerNorm, one layer."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.course.checks.base import (
    check_dropout,
    checker,
    close,
    expect,
    none_of,
    random_tensor,
    run,
    same_weights,
)
from bertlab.model.encoder import Layer

LayerNorm = Callable[[Tensor, Tensor, Tensor, float], Tensor]


@checker
def check_gelu(fn: Callable[[Tensor], Tensor]) -> None:
    """Check fn(x) = x times the probability that a standard normal number is below x, for x of any shape."""
    x = torch.linspace(-4, 4, 33).view(3, 11)
    result = run(fn, x)
    expect(isinstance(result, Tensor) and result.shape == x.shape, "return a tensor of the shape of x.")
    erf = torch.erf(x / math.sqrt(2))
    density = (-x.square() / 2).exp() / math.sqrt(2 * math.pi)
    none_of(
        result,
        [
            (F.relu(x), "this is ReLU: it cuts at 0, GELU bends."),
            (0.5 * (1 + erf), "this is the probability alone: multiply it by x."),
            (x * (1 + erf), "a factor of one half is missing: (1 + erf) runs from 0 to 2."),
            (0.5 * x * erf, "the 1 is missing: the probability is (1 + erf) / 2."),
            (x * erf, "this is x times erf: the probability is (1 + erf) / 2."),
            (0.5 * x * (1 + torch.erf(x)), "x must be divided by the square root of 2 inside erf."),
            (x * density, "this is x times the density; you need the probability below x (the area, not the height)."),
            (
                F.gelu(x, approximate="tanh"),
                "this is the tanh approximation, which some BERTs use (hidden_act 'gelu_new'); here, the exact one.",
            ),
            (x * torch.sigmoid(1.702 * x), "this is the sigmoid approximation; here, the exact one, with erf."),
            (F.silu(x), "this is SiLU: it has the logistic curve where GELU has the normal one."),
        ],
    )
    expect(close(result, F.gelu(x)), "this is not x (1 + erf(x / sqrt(2))) / 2.")
    print("Right: x, weighed with the share of normal numbers below it.")


@checker
def check_layer_norm(fn: LayerNorm) -> None:
    """Check fn(x (B, S, H), weight (H,), bias (H,), eps) -> (B, S, H)."""
    x = 3 * random_tensor(2, 3, 6) + 1
    weight, bias = random_tensor(6, seed=1), random_tensor(6, seed=2)
    result = run(fn, x, weight, bias, 0.1)
    expect(isinstance(result, Tensor) and result.shape == x.shape, "return a tensor of the shape of x.")
    none_of(result, _known_norms(x, weight, bias, 0.1))
    expect(close(result, F.layer_norm(x, (6,), weight, bias, 0.1)), "this is not (x - mean) / sqrt(variance + eps).")
    flat = run(fn, torch.full((1, 1, 6), 5.0), weight, bias, 1e-12)
    expect(not bool(flat.isnan().any()), "a token whose numbers are all alike became nan (0/0): eps is there for that.")
    print("Right: each token by itself, over its own features.")


def _known_norms(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> list[tuple[Tensor, str]]:
    """What the usual slips give."""

    def norm(dims: tuple[int, ...] = (-1,), unbiased: bool = False) -> Tensor:
        variance = x.var(dims, keepdim=True, unbiased=unbiased)
        return (x - x.mean(dims, keepdim=True)) / (variance + eps).sqrt()

    centred, variance = x - x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    right = norm()
    return [
        (
            weight * norm(unbiased=True) + bias,
            "the variance divides by H - 1 (torch's default): LayerNorm divides by H, unbiased=False.",
        ),
        (weight * centred / (variance.sqrt() + eps) + bias, "eps stands outside the root: sqrt(variance + eps)."),
        (weight * centred / (variance + eps) + bias, "you divided by the variance: take its square root."),
        (weight * centred / variance.sqrt() + bias, "eps is missing under the root."),
        (
            weight * norm((0,)) + bias,
            "mean and variance run over the batch: that is batch normalisation. Here each token is by itself.",
        ),
        (weight * norm((0, 1)) + bias, "mean and variance run over all tokens: here each token is by itself, dim=-1."),
        (weight * norm((1,)) + bias, "mean and variance run over the tokens of a text: take the features, dim=-1."),
        (
            weight * norm((0, 1, 2)) + bias,
            "there is one mean and one variance for all numbers of x: each token has its own, dim=-1.",
        ),
        (
            weight * norm((1, 2)) + bias,
            "mean and variance run over tokens and features: each token is by itself, dim=-1.",
        ),
        (right, "weight and bias are missing."),
        (weight * right, "bias is missing."),
        (right + bias, "weight is missing."),
        (bias * right + weight, "weight and bias are swapped."),
        (
            weight * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias,
            "the mean is not taken away: this is RMSNorm, which came later.",
        ),
    ]


@checker
def check_layer(cls: type[nn.Module]) -> None:
    """Check cls(config) with the library's names; forward(x (B, S, H), padding (B, 1, 1, S) or None) -> (B, S, H)."""
    config = BertConfig(hidden_size=24, num_attention_heads=3, intermediate_size=40)
    library, mine = same_weights(Layer, cls, config, spread=0.3)
    x = random_tensor(2, 6, 24)
    padding = torch.tensor([[0] * 6, [0] * 4 + [1] * 2]).bool()[:, None, None]  # (2, 1, 1, 6)
    with torch.no_grad():
        output = run(mine, x, padding)
        expect(isinstance(output, Tensor), "return the new x alone: the attention gives two things, unpack them.")
        expect(output.shape == x.shape, f"the output should be {tuple(x.shape)}, not {tuple(output.shape)}.")
        none_of(output, _known_layers(library, x, padding))
        expect(close(output, library(x, padding)[0]), "the output is not the library's.")
        expect(close(run(mine, x, None), library(x)[0]), "with padding=None nothing is hidden.")
        check_dropout(mine, "on what attention gives and on what the feed-forward network gives", x, padding)
        for part in (part for part in mine.modules() if isinstance(part, nn.Dropout)):
            part.p = 1.0
        alone = library.feed_forward_norm(library.attention_norm(x))
        expect(
            close(run(mine, x, padding), alone),
            "dropout belongs on both sublayers' outputs, before each is added: self.dropout(...) twice.",
        )
    print("Right: with the same weights your layer and the library's give the same.")


def _known_layers(library: Layer, x: Tensor, padding: Tensor) -> list[tuple[Tensor, str]]:
    """What the usual slips give with the library's weights."""
    feed_forward, first, second = library.feed_forward, library.attention_norm, library.feed_forward_norm

    def attend(x: Tensor) -> Tensor:
        return library.attention(x, padding)[0]

    def straight(x: Tensor) -> Tensor:
        return feed_forward.down(feed_forward.up(x))

    middle = first(x + attend(x))
    before = x + attend(first(x))
    outside = x + first(attend(x))
    unhidden = first(x + library.attention(x, None)[0])
    return [
        (
            before + feed_forward(second(before)),
            "this normalises before each sublayer (pre-LN), as later models do: BERT adds first, then normalises.",
        ),
        (second(first(attend(x)) + feed_forward(first(attend(x)))), "x is not added to what attention gives."),
        (second(feed_forward(middle)), "what enters the feed-forward network is not added to what it gives."),
        (second(feed_forward(first(attend(x)))), "nothing is added: both residual connections are missing."),
        (
            second(x + feed_forward(middle)),
            "the second sum starts from the layer's input: add what enters the feed-forward network.",
        ),
        (middle + feed_forward(middle), "the second LayerNorm is missing."),
        (second(x + attend(x) + feed_forward(x + attend(x))), "the first LayerNorm is missing."),
        (first(middle + feed_forward(middle)), "attention_norm is used twice: the second is feed_forward_norm."),
        (first(second(x + attend(x)) + feed_forward(second(x + attend(x)))), "the two LayerNorms are swapped."),
        (x + attend(x) + feed_forward(x + attend(x)), "both LayerNorms are missing."),
        (x + second(feed_forward(middle)), "normalise the sum, not one of its parts."),
        (outside + second(feed_forward(outside)), "normalise the sums, not one of their parts."),
        (
            second(unhidden + feed_forward(unhidden)),
            "padding was not hidden: hand `padding` on to attention.",
        ),
        (second(middle + straight(middle)), "the feed-forward network has no activation between up and down."),
        (
            second(middle + feed_forward.down(F.relu(feed_forward.up(middle)))),
            "the feed-forward network uses ReLU: BERT uses GELU.",
        ),
        (middle, "there is no feed-forward network yet."),
    ]
