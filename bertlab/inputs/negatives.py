"""Negatives of next-sentence prediction: true pairs of different documents, alike in length, exchange second texts."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from bertlab.inputs.store import FlatText
from bertlab.tokenizer import cut_longest

LOOK_BACK = 64  # how many candidates are tried for an exchange


@dataclass(frozen=True, eq=False)
class TruePairs:
    """N true pairs: two spans that follow each other in a document, as positions in `tokens`."""

    tokens: np.ndarray  # (T,)
    document: np.ndarray  # (N,) its number
    first: np.ndarray  # (N, 2) start and end
    second: np.ndarray  # (N, 2)
    next_length: np.ndarray  # (N,) tokens of the first sentence of `second`

    @classmethod
    def of(cls, text: FlatText, runs: list[tuple[int, int, int, int]]) -> "TruePairs":
        """Make them from (document, first sentence, first sentence of the second part, end) of each."""
        document, start, middle, end = np.array(runs, dtype=int).reshape(-1, 4).T  # (N, 4) -> (N,) each
        bounds = text.sentences
        first, second = (np.stack([bounds[a], bounds[b]], axis=1) for a, b in ((start, middle), (middle, end)))
        return cls(text.tokens, document, first, second, bounds[middle + 1] - bounds[middle])

    def __len__(self) -> int:
        return len(self.document)

    def shuffled(self, rng: random.Random) -> "TruePairs":
        order = list(range(len(self)))
        rng.shuffle(order)
        parts = (part[order] for part in (self.document, self.first, self.second, self.next_length))
        return TruePairs(self.tokens, *parts)


def exchange(pairs: TruePairs, count: int, budget: int, rng: random.Random) -> Iterator[tuple[int, int]]:
    """Yield (pair that keeps its first text, pair that lends its second) for each of the first `count`, by number.

    Pairs are taken in the order of their second texts' lengths, so that those exchanged are about equally long.
    """
    is_negative, lengths = Negative(pairs, budget), np.diff(pairs.second)[:, 0]  # (N,)
    waiting: list[int] = []
    for pair in np.argsort(lengths[:count], kind="stable").tolist():
        for index in range(len(waiting) - 1, max(len(waiting) - LOOK_BACK, 0) - 1, -1):
            other = waiting[index]
            if is_negative(other, to=pair) and is_negative(pair, to=other):
                del waiting[index]
                yield pair, other
                yield other, pair
                break
        else:
            waiting.append(pair)
    for document, rest in groupby(sorted(waiting, key=pairs.document.__getitem__), key=pairs.document.__getitem__):
        others = np.flatnonzero(pairs.document != document)
        for pair in rest:  # mostly of one long document: they borrow a second text that is used twice
            lenders = others[rng.sample(range(len(others)), min(len(others), LOOK_BACK))].tolist()
            lenders = [lender for lender in lenders if is_negative(lender, to=pair)]
            if lenders:
                yield pair, min(lenders, key=lambda lender: abs(lengths[lender] - lengths[pair]))


class Negative:
    """Tell whether a lender's second text is from another document and, as cut, not the true next text: neither
    a beginning of the next sentence nor something that begins with it."""

    def __init__(self, pairs: TruePairs, budget: int):
        self.tokens, self.budget = pairs.tokens, budget
        self.document, self.start = pairs.document.tolist(), pairs.second[:, 0].tolist()
        self.opening = pairs.tokens[pairs.second[:, 0]].tolist()
        self.first_length, self.length = (np.diff(part)[:, 0].tolist() for part in (pairs.first, pairs.second))
        self.next_length = pairs.next_length.tolist()

    def __call__(self, lender: int, to: int) -> bool:
        if self.document[lender] == self.document[to]:
            return False
        if self.opening[lender] != self.opening[to]:  # nearly always: no need to look further
            return True
        _, kept = cut_longest((self.first_length[to], self.length[lender]), self.budget)
        length = min(kept, self.next_length[to])
        lent, true = (self.tokens[start : start + length] for start in (self.start[lender], self.start[to]))
        return not np.array_equal(lent, true)


def cut(first: np.ndarray, second: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Shorten pairs, first and second (N, 2), to `budget` tokens: at the outer ends, so that the texts still meet."""
    lengths = zip(np.diff(first)[:, 0].tolist(), np.diff(second)[:, 0].tolist(), strict=True)
    kept = np.array([cut_longest(pair, budget) for pair in lengths])  # (N, 2)
    first_start, second_end = first[:, 1] - kept[:, 0], second[:, 0] + kept[:, 1]
    return np.stack([first_start, first[:, 1]], axis=1), np.stack([second[:, 0], second_end], axis=1)
