"""What a component contributes: leave it out, or compare with the same architecture with random weights."""

import copy
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.explain.text import bert_of, plain_bert_of
from bertlab.inputs.features import Batch
from bertlab.model.base import DRAWS, PretrainedModel
from bertlab.model.encoder import Layer

PARTS = ("attention", "feed-forward", "residual", "norm", "activation")

Model = TypeVar("Model", bound=PretrainedModel)


class Silent(nn.Module):
    """In place of a sublayer: it has nothing to add."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class SilentAttention(nn.Module):
    def forward(self, x: Tensor, *_) -> tuple[Tensor, None]:
        return torch.zeros_like(x), None


class WithoutResidual(nn.Module):
    """A layer without residual connections: it passes on only what its sublayers give; for eval mode (no dropout)."""

    def __init__(self, layer: Layer):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, *how) -> tuple[Tensor, Tensor | None]:
        attended, probabilities = self.layer.attention(x, *how)
        x = self.layer.attention_norm(attended)
        return self.layer.feed_forward_norm(self.layer.feed_forward(x)), probabilities


def ablated(model: PretrainedModel, without: Collection[str], layers: Collection[int] | None = None) -> PretrainedModel:
    """Return a copy of `model` in eval mode whose encoder layers (from 0; None: all) lack some of PARTS.

    A missing sublayer adds nothing; a missing LayerNorm or activation passes on its input. Raises InputError for an
    unknown part.
    """
    if unknown := [part for part in without if part not in PARTS]:
        raise InputError(f"part {unknown[0]!r} is unknown; known: {', '.join(PARTS)}")
    changed = copy.deepcopy(model).eval()
    every = plain_bert_of(changed).encoder.layers
    for number in range(len(every)) if layers is None else layers:
        every[number] = _layer_without(every[number], without)
    return changed


def _layer_without(layer: Any, without: Collection[str]) -> nn.Module:
    if "attention" in without:
        layer.attention = SilentAttention()
    if "activation" in without:
        layer.feed_forward.activation = nn.Identity()
    if "feed-forward" in without:
        layer.feed_forward = Silent()
    if "norm" in without:
        layer.attention_norm, layer.feed_forward_norm = nn.Identity(), nn.Identity()
    return WithoutResidual(layer) if "residual" in without else layer


@dataclass(frozen=True)
class Signal:
    """How a text changes on its way through L layers; each list has L+1 numbers, the first for the embeddings.

    `sizes` are root mean squares of the states. `differences` are the shares of the states, from 0 to 1, that
    distinguish its tokens: |X - mean over tokens| / |X|. `gradients` are lengths of the gradient that arrives there
    from the last layer, where it has the length 1.
    """

    sizes: list[float]
    differences: list[float]
    gradients: list[float]


def signal(model: PretrainedModel, batch: Batch, seed: int = 0) -> Signal:
    """Return the Signal of one text (1, S); the gradient is that of the last states times a random direction."""
    bert = bert_of(model)
    with torch.enable_grad():
        states = bert(**batch, output_hidden_states=True).hidden_states  # L+1 x (1, S, H)
        direction = torch.randn(states[-1].shape, generator=torch.Generator().manual_seed(seed))
        gradients = torch.autograd.grad((states[-1] * direction / direction.norm()).sum(), states)
    states = [state.detach() for state in states]
    return Signal(
        sizes=[float(state.square().mean().sqrt()) for state in states],
        differences=[_difference(state[0]) for state in states],
        gradients=[float(gradient.norm()) for gradient in gradients],
    )


def _difference(state: Tensor) -> float:
    """Return how much of a state (S, H) distinguishes its tokens; 0 if nothing is left of it."""
    return float((state - state.mean(0)).norm() / state.norm().clamp(min=torch.finfo(state.dtype).tiny))


class DrawFrom(TorchFunctionMode):
    """Initial weights come from this generator: the global random state, which all threads share, is never touched."""

    def __init__(self, generator: torch.Generator):
        super().__init__()
        self.generator = generator

    def __torch_function__(self, function, types, args=(), kwargs=None):
        own = {"generator": self.generator} if function.__name__ in DRAWS else {}
        return function(*args, **(kwargs or {}) | own)


def random_model(kind: type[Model], config: BertConfig, seed: int = 0) -> Model:
    """Return a model of class `kind` with freshly drawn weights, in eval mode.

    It depends on the seed alone, whatever other threads do, and leaves the global random state unchanged.
    """
    with DrawFrom(torch.Generator().manual_seed(seed)):
        return kind(config).eval()


def random_control(model: Model, seed: int = 0) -> Model:
    """Return a random_model of the same class and config."""
    return random_model(type(model), model.config, seed)
