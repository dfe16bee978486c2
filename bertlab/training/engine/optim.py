"""How weights are updated, and which: the optimizer of the paper, a faster one, rates by layer and over time."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from bertlab.errors import InputError
from bertlab.model.base import PretrainedModel
from bertlab.model.mixing import LayerMix


@dataclass(frozen=True)
class Optimization:
    """AdamW with linear warm-up and linear decay (Devlin et al. 2019, appendix A.2).

    "muon" takes the matrices of the layers and of the pooler to torch's Muon (orthogonalised momentum) and leaves the
    rest to AdamW: small encoders then find word order several times sooner, and [CLS] stays able to tell texts apart.

    With a `layer_decay` below 1, each layer learns that much more slowly than the one above it and the embeddings
    slowest; the last layer and the head have the whole rate (Howard & Ruder 2018, section 3.2; Sun et al. 2019).
    """

    optimizer: Literal["adamw", "muon"] = "adamw"
    learning_rate: float = 1e-4
    warmup: float = 0.05  # share of the run
    weight_decay: float = 0.01  # on matrices, never on biases and LayerNorm
    clip: float = 1.0  # largest norm of the whole gradient
    beta2: float = 0.98  # how slowly AdamW forgets the size of gradients; the paper's long runs have 0.999
    layer_decay: float = 1.0  # a layer's learning rate over that of the layer above it

    def __post_init__(self):
        fits = {
            "learning_rate": 0 < self.learning_rate < float("inf"),
            "warmup": 0 <= self.warmup < 1,
            "weight_decay": self.weight_decay >= 0,
            "clip": self.clip > 0,
            "beta2": 0 <= self.beta2 < 1,
            "layer_decay": 0 < self.layer_decay <= 1,
        }
        for name in (name for name, fit in fits.items() if not fit):
            raise InputError(f"optim.{name}={getattr(self, name)} is out of range")


def make_optimizers(model: nn.Module, settings: Optimization) -> list[torch.optim.Optimizer]:
    """One AdamW, or with "muon" a Muon for the encoder's matrices and an AdamW for all else; frozen weights in none.

    `lr_scale` of each group is its share of the learning rate. InputError where everything is frozen.
    """
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    if not trained:
        raise InputError("there is nothing to train: all weights are frozen")
    scales = rate_scales([n for n, _ in model.named_parameters()], settings.layer_decay)
    decayed = {n: p for n, p in trained.items() if p.ndim >= 2}
    plain = {n: p for n, p in trained.items() if p.ndim < 2}
    hidden = {}
    if settings.optimizer == "muon":
        hidden = {n: p for n, p in decayed.items() if "layer" in n or "pooler" in n}
    rest = {n: p for n, p in decayed.items() if n not in hidden}
    rate, decay = settings.learning_rate, settings.weight_decay
    groups = [*by_scale(rest, scales, weight_decay=decay), *by_scale(plain, scales, weight_decay=0.0)]
    adamw = torch.optim.AdamW(groups, lr=rate, betas=(0.9, settings.beta2), fused=True)
    if not hidden:
        return [adamw]
    muon = Muon(by_scale(hidden, scales), lr=rate, weight_decay=decay, adjust_lr_fn="match_rms_adamw")
    return [muon, adamw]


def rate_scales(names: Iterable[str], layer_decay: float) -> dict[str, float]:
    """Each parameter's share of the learning rate, from its name: 1 from the last layer on, less below."""
    numbers = {name: layer_number(name) for name in names}
    last = max((number for number in numbers.values() if number is not None), default=0)
    return {name: 1.0 if number is None else layer_decay ** (last - number) for name, number in numbers.items()}


def layer_number(name: str) -> int | None:
    """1 for what is in the lowest layer, 0 for the embeddings, None for what stands on top of the encoder."""
    if found := re.search(r"encoder\.layers\.(\d+)\.", name):
        return int(found[1]) + 1
    return 0 if "embeddings." in name else None


def by_scale(parameters: Mapping[str, nn.Parameter], scales: Mapping[str, float], **options: float) -> list[dict]:
    """One group of an optimizer for each lr_scale that occurs."""
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in parameters.items():
        groups.setdefault(scales[name], []).append(parameter)
    return [{"params": chosen, "lr_scale": scale, **options} for scale, chosen in groups.items()]


def freeze(model: PretrainedModel, what: str | int) -> None:
    """Keep the lower part of the encoder as it is: "none" of it, the "embeddings", these and the lowest 1, 2, ...
    layers, or all of the "encoder". Head and pooler are always trained.

    What is frozen gives fixed features: it works without dropout in training too, and nothing is kept for its gradient.
    Whatever was frozen before is trained again, but for a last layer that the head does not read (layer_mix
    "second-to-last"): several processes would wait for its gradient. InputError for what there is not.
    """
    encoder = getattr(model, "bert", model)
    parts = [encoder.embeddings, *encoder.encoder.layers]
    layers = len(parts) - 1
    known = {"none": 0, "embeddings": 1, "encoder": len(parts)} | {str(n): n + 1 for n in range(1, layers + 1)}
    if str(what) not in known:
        raise InputError(f"freeze={what!r}: must be none, embeddings, encoder or a number of layers, 1 to {layers}")
    model.requires_grad_(True)
    for part in parts[: known[str(what)]]:
        part.requires_grad_(False)
    if isinstance(mix := getattr(model, "mix", None), LayerMix) and mix.kind == "second-to-last":
        parts[-1].requires_grad_(False)
    model.train(model.training)


class Muon(torch.optim.Muon):
    """torch's, heeding `found_inf` as its AdamW does: a step where this tensor holds 1 changes nothing."""

    found_inf: Tensor | None = None

    @torch.no_grad()
    def step(self, closure=None):
        if self.found_inf is None:
            return super().step(closure)
        skipped, zero = self.found_inf.bool(), torch.zeros_like(self.found_inf)
        weights = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        before = [weight.clone() for weight in weights]
        for weight in weights:  # momentum mixed with itself stays what it is
            momentum = self.state[weight].get("momentum_buffer", zero)
            torch.where(skipped, momentum, weight.grad, out=weight.grad)
        super().step(closure)
        for weight, old in zip(weights, before, strict=True):
            torch.where(skipped, old, weight, out=weight)


def rate_factor(progress: float, warmup: float) -> float:
    """Share of the top learning rate at `progress` (0..1) of the run: up linearly, then down to zero."""
    if progress < warmup:
        return progress / warmup
    return max(0.0, (1 - progress) / (1 - warmup))
