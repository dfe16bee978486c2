"""The library's weights in the reader's own modules: which names and shapes fit, and what is left over."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn

Shape = tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Matching:
    """What load_matching did, by parameter name.

    `matched` were copied. `missing` are the library's and have no place in yours; `extra` are yours alone and keep the
    values they had. `misshapen` have the same name and another shape: (yours, the library's). `copied` of the library's
    `total` numbers have found their place; tied parameters are counted once.
    """

    matched: dict[str, Shape]
    missing: dict[str, Shape]
    extra: dict[str, Shape]
    misshapen: dict[str, tuple[Shape, Shape]]
    copied: int
    total: int

    @property
    def percent(self) -> float:
        """How much of the library's parameters was copied, rounded down: 100 means all of them."""
        return math.floor(1000 * self.copied / self.total) / 10

    @property
    def complete(self) -> bool:
        """Everything of the library's was copied, and yours has nothing besides."""
        return not (self.missing or self.extra or self.misshapen)

    def __repr__(self) -> str:
        shapes = {name: f"yours {mine}, the library's {theirs}" for name, (mine, theirs) in self.misshapen.items()}
        return "\n".join(
            [
                f"{self.percent:.1f}% matched: {self.copied:,} of the library's {self.total:,} parameters",
                *_lines("missing in yours", self.missing),
                *_lines("only in yours", self.extra),
                *_lines("another shape", shapes),
            ]
        )


@torch.no_grad()
def load_matching(module: nn.Module, model: nn.Module) -> Matching:
    """Copy the parameters of `model`, a model of the library or a part of one, by name into `module`, the reader's.

    What does not fit is left alone and named in the report.
    """
    mine, theirs = (dict(each.named_parameters(remove_duplicate=False)) for each in (module, model))
    fitting = [name for name in theirs if name in mine and mine[name].shape == theirs[name].shape]
    for name in fitting:
        mine[name].copy_(theirs[name])
    # a tied parameter has several names, of which one is enough
    filled, used = {mine[name] for name in fitting}, {theirs[name] for name in fitting}
    both = [name for name in theirs if name in mine and name not in fitting]
    return Matching(
        matched={name: tuple(theirs[name].shape) for name in fitting},
        missing={name: tuple(p.shape) for name, p in theirs.items() if name not in mine and p not in used},
        extra={name: tuple(p.shape) for name, p in mine.items() if name not in theirs and p not in filled},
        misshapen={name: (tuple(mine[name].shape), tuple(theirs[name].shape)) for name in both},
        copied=sum(parameter.numel() for parameter in used),
        total=sum(parameter.numel() for parameter in model.parameters()),
    )


def _lines(title: str, entries: Mapping[str, object]) -> list[str]:
    """One line for each name and shape; the same in several layers is one, with * for the layer's number."""
    counts = Counter((re.sub(r"\.\d+\.", ".*.", name), str(shape)) for name, shape in entries.items())
    return [
        f"  {title}: {name} {shape}" + (f", {times} times" if times > 1 else "")
        for (name, shape), times in counts.items()
    ]
