"""Slices of a data set: how well a model does on texts of one length, or with one word."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.corpora import letters

WORD = re.compile(rf"{letters.WORD.pattern}(?:['’]{letters.LETTER}+)*")  # with what stands behind an apostrophe


@dataclass(frozen=True)
class Slice:
    """Texts that have something in common: their number, the mean of their scores (0..1), and by how many standard
    errors that lies above (below: negative) the mean of all, if texts were drawn at random."""

    name: str
    count: int
    score: float
    distance: float


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


def length_bounds(lengths: Sequence[int], parts: int = 4) -> list[tuple[int, int]]:
    """Return first and last length of at most `parts` groups of nearly equal size."""
    lasts = np.unique(np.quantile(lengths, np.linspace(0, 1, parts + 1)[1:], method="lower")).tolist()
    firsts = [min(lengths), *(last + 1 for last in lasts)]
    return list(zip(firsts, lasts, strict=False))


def words_in(first: int, last: int) -> str:
    """Name a group of lengths."""
    return f"{first} to {last} words" if last > first else f"{first} word{'s' * (first != 1)}"


def by_length(texts: Sequence[str], scores: Sequence[float]) -> list[Slice]:
    """Return slices of nearly equal size by the number of words, shortest first."""
    lengths, values = np.array([len(words_of(text)) for text in texts]), np.asarray(scores, dtype=float)
    return [
        _slice(words_in(first, last), values[(lengths >= first) & (lengths <= last)], values)
        for first, last in length_bounds(lengths.tolist())
    ]


def by_word(texts: Sequence[str], scores: Sequence[float], least: int = 10, most: int = 20) -> list[Slice]:
    """Return the `most` words, of those in `least` texts or more, whose texts score furthest below the mean: by a
    standard error or more."""
    numbers, values = defaultdict(list), np.asarray(scores, dtype=float)
    for number, text in enumerate(texts):
        for word in set(words_of(text)):
            numbers[word].append(number)
    found = [_slice(word, values[at], values) for word, at in numbers.items() if least <= len(at) < len(values)]
    return sorted((one for one in found if one.distance <= -1), key=lambda one: one.distance)[:most]


def _slice(name: str, part: np.ndarray, every: np.ndarray) -> Slice:
    error = float(every.std()) / math.sqrt(max(len(part), 1))
    score = float(part.mean()) if len(part) else math.nan
    return Slice(name, len(part), score, (score - float(every.mean())) / error if error else 0.0)
