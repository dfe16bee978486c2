"""How nbval compares what training brought: word by word, and each figure roughly."""

import copy
import re
from collections.abc import Callable

TAG = "within-a-tenth"  # of the cells whose outputs are compared so
KINDS = {"text", "text/plain", "text/html"}
NUMBER = re.compile(r"([-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?%?)")


def compared_roughly(item) -> Callable[..., bool]:
    """Return nbval's comparison for a cell, after figures near the saved ones were taken for these."""
    compare = item.compare_outputs

    def compared(found, saved):
        found = copy.deepcopy(found)
        for ours, theirs in zip(found, saved, strict=False):
            for one, other in ((ours, theirs), (ours.get("data", {}), theirs.get("data", {}))):
                for kind in KINDS & one.keys() & other.keys():
                    one[kind] = as_saved(item.sanitize(one[kind]), item.sanitize(other[kind]))
        return compare(found, saved)

    return compared


def as_saved(found: str, saved: str) -> str:
    """Return the saved text if the other has its words, and figures within a tenth of 1 or of themselves; else that."""
    ours, theirs = NUMBER.split(found), NUMBER.split(saved)
    if [part.split() for part in ours[::2]] != [part.split() for part in theirs[::2]]:  # columns may be wider
        return found
    return saved if all(map(near, ours[1::2], theirs[1::2])) else found


def near(figure: str, other: str) -> bool:
    a, b = value(figure), value(other)
    return abs(a - b) <= 0.1 * max(1, abs(b))


def value(figure: str) -> float:
    number = float(figure.rstrip("%").replace(",", ""))
    return number / 100 if figure.endswith("%") else number
