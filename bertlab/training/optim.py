"""How weights are updated: the optimizer of the paper, a faster one, and the learning rate over time."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from bertlab.errors import InputError


@dataclass(frozen=True)
class Optimization:
    """AdamW with linear warm-up and linear decay (Devlin et al. 2019, appendix A.2).

    "muon" takes the matrices of the layers and of the pooler to torch's Muon (orthogonalised momentum) and leaves the
    rest to AdamW: small encoders then find word order several times sooner, and [CLS] stays able to tell texts apart.
    """

    optimizer: Literal["adamw", "muon"] = "adamw"
    learning_rate: float = 1e-4
    warmup: float = 0.05  # share of the run
    weight_decay: float = 0.01  # on matrices, never on biases and LayerNorm
    clip: float = 1.0  # largest norm of the whole gradient
    beta2: float = 0.98  # how slowly AdamW forgets the size of gradients; the paper's long runs have 0.999

    def __post_init__(self):
        fits = {
            "learning_rate": 0 < self.learning_rate < float("inf"),
            "warmup": 0 <= self.warmup < 1,
            "weight_decay": self.weight_decay >= 0,
            "clip": self.clip > 0,
            "beta2": 0 <= self.beta2 < 1,
        }
        for name in (name for name, fit in fits.items() if not fit):
            raise InputError(f"optim.{name}={getattr(self, name)} is out of range")


def make_optimizers(model: nn.Module, settings: Optimization) -> list[torch.optim.Optimizer]:
    """One AdamW, or with "muon" a Muon for the encoder's matrices and an AdamW for all else."""
    decayed = {n: p for n, p in model.named_parameters() if p.ndim >= 2}
    plain = [p for p in model.parameters() if p.ndim < 2]
    hidden = [p for n, p in decayed.items() if "layer" in n or "pooler" in n] if settings.optimizer == "muon" else []
    muon_ids = {id(p) for p in hidden}
    groups = [
        {
            "params": [p for p in decayed.values() if id(p) not in muon_ids],
            "weight_decay": settings.weight_decay,
        },
        {"params": plain, "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, settings.beta2), fused=True)
    if not hidden:
        return [adamw]
    muon = Muon(hidden, lr=settings.learning_rate, weight_decay=settings.weight_decay, adjust_lr_fn="match_rms_adamw")
    return [muon, adamw]


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
