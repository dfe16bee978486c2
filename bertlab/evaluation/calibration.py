"""How often a classifier is right when it is so sure: its calibration on held-out examples (Guo et al. 2017)."""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bertlab.draw.percent import percent
from bertlab.errors import InputError
from bertlab.io.gate import read_json
from bertlab.tasks.base import Compared

CALIBRATION = "calibration.json"
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
ENOUGH = 30  # examples that a share is told of


@dataclass(frozen=True)
class Bin:
    """The predictions with a probability from `low` to `high`: `count` of them, `right` of these right."""

    low: float
    high: float
    count: int
    right: int

    @property
    def wrong(self) -> float:
        """The share of wrong ones."""
        return 1 - self.right / self.count

    @property
    def between(self) -> str:
        """The limits in words."""
        return f"{100 * self.low:g} to {100 * self.high:g}%"


def bins(comparisons: Sequence[Compared]) -> list[Bin]:
    """Return the bins that hold any of these predictions, from unsure to sure; those without probability are left
    out."""
    rights: list[list[bool]] = [[] for _ in EDGES[1:]]
    for one in comparisons:
        if one.probability is not None:
            rights[_place(one.probability)].append(one.gold == one.predicted)
    pairs = zip(EDGES, EDGES[1:], rights, strict=False)
    return [Bin(low, high, len(found), sum(found)) for low, high, found in pairs if found]


def _place(probability: float) -> int:
    return min(bisect_right(EDGES, probability), len(EDGES) - 1) - 1


def as_json(found: Sequence[Bin]) -> str:
    """Return the content of calibration.json."""
    return json.dumps({"bins": [asdict(one) for one in found]}, indent=2) + "\n"


def rows(found: Sequence[Bin]) -> list[list[str]]:
    """Return the rows of a table: the probability, how many predictions had it, and how many of these are wrong."""
    return [[one.between, f"{one.count:,}", percent(one.wrong)] for one in found]


def when_as_sure(folder: str | Path, probability: float) -> Bin | None:
    """Return the bin of this probability in the calibration.json of a model; None if there is no such file, or it is
    damaged, or has fewer than 30 predictions there."""
    try:
        found = [Bin(**one) for one in read_json(Path(folder) / CALIBRATION)["bins"]]
        low = EDGES[_place(probability)]
        return next((one for one in found if one.low == low and 0 <= one.right <= one.count >= ENOUGH), None)
    except (InputError, KeyError, TypeError):
        return None
