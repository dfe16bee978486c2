"""How often a model is right when it is so sure: its calibration on held-out examples (Guo et al. 2017)."""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bertlab.draw.percent import percent
from bertlab.errors import InputError
from bertlab.io.json_files import read_json
from bertlab.tasks.base import Compared

CALIBRATION = "calibration.json"
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
ENOUGH = 30  # examples that a share is told of
# A model that learned from reviews and from single sentences may be wrong about the sentences more often.
WORDS = 50
SHORT, LONG = f"at most {WORDS} words", f"more than {WORDS} words"


@dataclass(frozen=True)
class Bin:
    """The predictions with a probability from `low` to `high`: `count` of them, `right` of these right. `length`: of
    texts of SHORT or LONG length alone, "" of all."""

    low: float
    high: float
    count: int
    right: int
    length: str = ""

    @property
    def wrong(self) -> float:
        """The share of wrong ones."""
        return 1 - self.right / self.count

    @property
    def between(self) -> str:
        """The limits in words."""
        return f"{100 * self.low:g} to {100 * self.high:g}%"


def bins(comparisons: Sequence[Compared]) -> list[Bin]:
    """Return the bins that hold any of these predictions, from unsure to sure; those without probability are left out.

    If some texts are SHORT and others LONG, the bins of either follow.
    """
    groups = {length: [one for one in comparisons if length_of(one.text) == length] for length in (SHORT, LONG)}
    apart = groups if all(groups.values()) else {}
    return _bins(comparisons, "") + [one for length, group in apart.items() for one in _bins(group, length)]


def _bins(comparisons: Sequence[Compared], length: str) -> list[Bin]:
    rights: list[list[bool]] = [[] for _ in EDGES[1:]]
    for one in comparisons:
        if one.probability is not None:
            rights[_place(one.probability)].append(one.gold == one.predicted)
    pairs = zip(EDGES, EDGES[1:], rights, strict=False)
    return [Bin(low, high, len(found), sum(found), length) for low, high, found in pairs if found]


def length_of(text: str) -> str:
    """Return SHORT or LONG."""
    return SHORT if len(text.split()) <= WORDS else LONG


def _place(probability: float) -> int:
    return min(bisect_right(EDGES, probability), len(EDGES) - 1) - 1


def as_json(found: Sequence[Bin]) -> str:
    """Return the content of calibration.json."""
    return json.dumps({"bins": [asdict(one) for one in found]}, indent=2) + "\n"


def rows(found: Sequence[Bin]) -> list[list[str]]:
    """Return the rows of a table: the probability, how many predictions had it, and how many of these are wrong."""
    return [
        [f"{one.between}{f', texts of {one.length}' * bool(one.length)}", f"{one.count:,}", percent(one.wrong)]
        for one in found
    ]


def read_bins(folder: str | Path) -> list[Bin]:
    """Return the bins of a model's calibration.json that have 30 predictions or more; none if there is no such file, or
    it is damaged."""
    try:
        found = [Bin(**one) for one in read_json(Path(folder) / CALIBRATION)["bins"]]
        return [one for one in found if 0 <= one.right <= one.count >= ENOUGH]
    except (InputError, KeyError, TypeError):
        return []


def when_as_sure(folder: str | Path, probability: float, text: str = "") -> Bin | None:
    """Return the bin of this probability among those of a model: of texts that are SHORT or LONG like this one, or else
    of all. None if there is none."""
    low = EDGES[_place(probability)]
    here = {one.length: one for one in read_bins(folder) if one.low == low}
    return here.get(length_of(text), here.get(""))
