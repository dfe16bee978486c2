"""Update weights: any optimizer of torch.optim by name, the learning-rate schedule, rates by layer, what is frozen; and
which settings suit a model."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.model import BertModel
from bertlab.model.base import PretrainedModel
from bertlab.model.pooling import LayerMix
from bertlab.training.engine.muon import Muon

UNFIT = ("lbfgs", "sparseadam")  # one evaluates the loss several times a step, the other needs sparse gradients
OPTIMIZERS: dict[str, type[Optimizer]] = {
    name.lower(): kind
    for name, kind in sorted((vars(torch.optim) | {"Muon": Muon}).items(), key=lambda item: item[0].lower())
    if isinstance(kind, type) and issubclass(kind, Optimizer) and kind is not Optimizer and name.lower() not in UNFIT
}
FUSED = ("adam", "adamw", "sgd")  # one kernel for all weights, on every device
READ_FREELY = ("cpu",)  # devices whose numbers are read without waiting


@dataclass(frozen=True)
class Optimization:
    """An optimizer with linear warm-up and linear decay; by default AdamW (Devlin et al. 2019, appendix A.2).

    `optimizer` names any class of torch.optim (upper or lower case). It gets those of the settings below that it has
    a parameter for, and its own defaults for the rest. "muon" takes the matrices of the layers and of the pooler to
    Muon (orthogonalised momentum, bertlab/training/engine/muon.py) and leaves the rest to AdamW: small encoders then
    find word order several times sooner, and [CLS] stays able to tell texts apart.

    With a `layer_decay` below 1, each layer learns that much more slowly than the one above it and the embeddings
    slowest; the last layer and the head have the whole rate (Howard & Ruder 2018, section 3.2; Sun et al. 2019). The
    head, all that is outside the encoder and its pooler, learns `head_scale` times as fast: its weights are new, and
    those of a pretrained encoder are not.
    """

    optimizer: str = "adamw"
    learning_rate: float = 1e-4
    warmup: float = 0.05  # share of the run
    weight_decay: float = 0.01  # on matrices, never on biases and LayerNorm
    clip: float = 1.0  # largest norm of the whole gradient
    beta2: float = 0.98  # how slowly Adam and its kin forget the size of gradients; the paper's long runs have 0.999
    layer_decay: float = 1.0  # a layer's learning rate over that of the layer above it
    head_scale: float = 1.0  # the head's learning rate over that of the encoder

    def __post_init__(self) -> None:
        object.__setattr__(self, "optimizer", self.optimizer.lower())
        if self.optimizer not in OPTIMIZERS:
            raise InputError(f"optim.optimizer={self.optimizer}: choose one of {', '.join(OPTIMIZERS)}")
        fits = {
            "learning_rate": 0 < self.learning_rate < float("inf"),
            "warmup": 0 <= self.warmup < 1,
            "weight_decay": self.weight_decay >= 0,
            "clip": self.clip > 0,
            "beta2": 0 <= self.beta2 < 1,
            "layer_decay": 0 < self.layer_decay <= 1,
            "head_scale": 0 < self.head_scale < float("inf"),
        }
        for name in (name for name, fit in fits.items() if not fit):
            raise InputError(f"optim.{name}={getattr(self, name)} is out of range")


def make_optimizers(model: nn.Module, settings: Optimization, products: torch.dtype | None = None) -> list[Optimizer]:
    """Return one optimizer, or for "muon" a Muon for the encoder's matrices and an AdamW for the rest.

    `products`: the format in which Muon multiplies matrices (None: that of the weights). Frozen weights are in none of
    them. `lr_scale` of each group is its share of the learning rate. InputError if all weights are frozen.
    """
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not trained:
        raise InputError("there is nothing to train: all weights are frozen")
    scales = rate_scales([name for name, _ in model.named_parameters()], settings)
    muon = settings.optimizer == "muon"
    hidden = {n: p for n, p in trained.items() if muon and p.ndim >= 2 and ("layer" in n or "pooler" in n)}
    decayed = {n: p for n, p in trained.items() if p.ndim >= 2 and n not in hidden}
    plain = {n: p for n, p in trained.items() if p.ndim < 2}
    groups = [*by_scale(decayed, scales, settings.weight_decay), *by_scale(plain, scales, 0.0)]
    rest = make_optimizer("adamw" if muon else settings.optimizer, groups, settings)
    if not hidden:
        return [rest]
    matrices = by_scale(hidden, scales, settings.weight_decay)
    return [Muon(matrices, settings.learning_rate, products=products), rest]


def make_optimizer(name: str, groups: list[dict[str, Any]], settings: Optimization) -> Optimizer:
    """Return the optimizer of that name; an argument that it does not have is left out, of the groups too."""
    known = inspect.signature(OPTIMIZERS[name]).parameters
    if "weight_decay" not in known:
        groups = [{key: value for key, value in group.items() if key != "weight_decay"} for group in groups]
    wanted: dict[str, Any] = {"lr": settings.learning_rate, "betas": (0.9, settings.beta2)}
    if name in FUSED:  # on "meta", which computes nothing, torch has no such kernel
        wanted["fused"] = all(weight.device.type != "meta" for group in groups for weight in group["params"])
    return OPTIMIZERS[name](groups, **{key: value for key, value in wanted.items() if key in known})


@torch.no_grad()
def step_if_finite(optimizers: Sequence[Optimizer], finite: Tensor) -> None:
    """Let the optimizers change the weights, but only if the gradient is `finite` (a boolean on the device).

    A processor reads `finite` and skips the step. A GPU would have to finish all its work first and then wait for new
    work, in every step. So there the step is always taken: a gradient that is not finite counts as zero, which keeps
    the optimizer's own state finite, and then the weights get their old values back. That costs a copy of the weights,
    and nobody waits.
    """
    if finite.device.type in READ_FREELY:
        if finite:
            for optimizer in optimizers:
                optimizer.step()
        return
    groups = (group for optimizer in optimizers for group in optimizer.param_groups)
    weights = [weight for group in groups for weight in group["params"] if weight.grad is not None]
    before = [weight.clone() for weight in weights]
    for weight in weights:
        weight.grad.masked_fill_(~finite, 0.0)
    for optimizer in optimizers:
        optimizer.step()
    for weight, old in zip(weights, before, strict=True):
        torch.where(finite, weight, old, out=weight)


def rate_scales(names: Iterable[str], settings: Optimization) -> dict[str, float]:
    """Return each parameter's share of the learning rate, from its name: less below the last layer, more above all."""
    numbers = {name: layer_number(name) for name in names}
    last = max((number for number in numbers.values() if number is not None), default=0)

    def scale(name: str, number: int | None) -> float:
        if number is not None:
            return settings.layer_decay ** (last - number)
        return 1.0 if name.startswith("bert.") else settings.head_scale

    return {name: scale(name, number) for name, number in numbers.items()}


def layer_number(name: str) -> int | None:
    """Return 1 for a parameter of the lowest layer, 0 for the embeddings, None for what is above the encoder."""
    if found := re.search(r"encoder\.layers\.(\d+)\.", name):
        return int(found[1]) + 1
    return 0 if "embeddings." in name else None


def by_scale(
    parameters: Mapping[str, nn.Parameter], scales: Mapping[str, float], weight_decay: float
) -> list[dict[str, Any]]:
    """Return one parameter group of an optimizer for each lr_scale that occurs."""
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in parameters.items():
        groups.setdefault(scales[name], []).append(parameter)
    return [{"params": chosen, "lr_scale": scale, "weight_decay": weight_decay} for scale, chosen in groups.items()]


def freeze(model: PretrainedModel, what: str | int) -> None:
    """Keep the lower part of the encoder as it is: "none" of it, the "embeddings", these and the lowest 1, 2, ...
    layers, or all of the "encoder". Head and pooler are always trained.

    A frozen part gives fixed features: it has no dropout, not even in training, and stores nothing for a gradient.
    Layers that share their weights can only be frozen together. Whatever was frozen before is trained again. The
    exception is a last layer that the head does not read (layer_mix "second-to-last"): several processes would wait for
    its gradient. InputError for any other `what`.

    An encoder that is no BERT's keeps what it keeps frozen.
    """
    encoder: Any = getattr(model, "bert", model)
    if not isinstance(encoder, BertModel):
        if str(what) != "none":
            raise InputError(f"freeze={what!r}: only a BERT's own encoder can be frozen by its layers")
        return
    blocks = [encoder.embeddings, *encoder.encoder.layers]
    layers = len(blocks) - 1
    known = {"none": 0, "embeddings": 1, "encoder": len(blocks)} | {str(n): n + 1 for n in range(1, layers + 1)}
    if str(what) not in known:
        raise InputError(f"freeze={what!r}: must be none, embeddings, encoder or a number of layers, 1 to {layers}")
    shared = encoder.config.shared_layers
    if shared and 1 < known[str(what)] < len(blocks):
        raise InputError(f"freeze={what!r}: the layers share their weights; embeddings or encoder can be frozen")
    model.requires_grad_(True)
    for block in blocks[: known[str(what)]]:
        block.requires_grad_(False)
    if isinstance(mix := getattr(model, "mix", None), LayerMix) and mix.kind == "second-to-last" and not shared:
        blocks[-1].requires_grad_(False)
    model.train(model.training)


def rate_factor(progress: float, warmup: float) -> float:
    """The learning-rate schedule: return the share of the top rate at `progress` (0..1) of the run, up linearly, then
    down to zero."""
    if progress < warmup:
        return progress / warmup
    return max(0.0, (1 - progress) / (1 - warmup))


# Which optimizer and learning rate suit a trained model, by what its config.json says of it.
#
# Two kinds of narrow BERT need different ones. A published one has read billions of words, and AdamW adapts it at a
# rate among those that Turc et al. 2019 tried for compact models. One from a recipe of ours has read millions: its
# weights still have to change a lot, which Muon does in a few hundred steps. Measured in docs/finetuning.md, "Which
# settings?".

WIDE = 512  # from this hidden size on the paper's settings suit
# Three top learning rates of fine-tuning, the default in the middle.
PAPER_RATES = (5e-5, 3e-5, 2e-5)  # Devlin et al. 2019, appendix A.3
COMPACT_RATES = (3e-4, 1e-4, 5e-5)  # narrower published models; at 3e-4 some seeds learn nothing (docs/finetuning.md)
OWN_RATES = (4e-3, 2e-3, 1e-3)  # for Muon
OWN = Optimization("muon", learning_rate=OWN_RATES[1], warmup=0.1)
LORA_RATES = (2e-3, 1e-3, 5e-4)  # for AdamW on low-rank changes (docs/finetuning.md)
# How many times as fast the new head of narrower published models learns, and that of adapters: without it they find no
# name among 2,000 sentences.
COMPACT_HEAD, LORA_HEAD = 30.0, 10.0


def has_read_little(config: BertConfig) -> bool:
    """Return whether this is a narrow model from a recipe of ours.

    Published BERTs of every size were drawn with an initializer_range of at most 0.02; our recipes for narrow layers
    draw with 0.05. The field says where weights come from: whatever trains them further keeps it, while dropout may
    change in each fine-tuning. It misjudges a short pretraining of one's own with 0.02, which AdamW then fine-tunes too
    slowly, and a published model drawn with more. For these give --learning-rate and --set optim.optimizer=.
    """
    return config.hidden_size < WIDE and config.initializer_range > BertConfig.initializer_range


def suited_rates(config: BertConfig, lora: int = 0) -> tuple[float, float, float]:
    """Return three top learning rates to fine-tune this model with, or low-rank changes of it, the default in the
    middle."""
    if lora:
        return LORA_RATES
    if config.hidden_size >= WIDE:
        return PAPER_RATES
    return OWN_RATES if has_read_little(config) else COMPACT_RATES


def suited_optimization(config: BertConfig, lora: int = 0) -> Optimization:
    """Return what fine-tunes this model well: the paper's AdamW (appendix A.3) at a rate that suits the width, with a
    faster head if the model is narrow; or Muon for one that has read little, unless low-rank changes alone are
    learned."""
    if has_read_little(config) and not lora:
        return OWN
    rate = suited_rates(config, lora)[1]
    scale = LORA_HEAD if lora else COMPACT_HEAD if config.hidden_size < WIDE else 1.0
    return Optimization("adamw", learning_rate=rate, warmup=0.1, weight_decay=0.01, beta2=0.999, head_scale=scale)
