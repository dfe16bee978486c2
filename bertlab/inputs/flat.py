"""Documents as a few long arrays, so that pairs and batches are places in these instead of lists of their own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np


@dataclass(frozen=True, eq=False)
class FlatText:
    """Documents of sentences of token ids, one after the other, as in a token store on disk. No sentence is empty."""

    tokens: np.ndarray  # (T,) ids, of any whole-number type
    sentences: np.ndarray  # (sentences + 1,) where in `tokens` each starts, at the end T
    documents: np.ndarray  # (documents + 1,) with which sentence each starts, at the end the number of sentences

    @classmethod
    def of(cls, documents: "Sequence[Sequence[Sequence[int]]] | FlatText") -> "FlatText":
        """From lists; empty sentences are left out."""
        if isinstance(documents, FlatText):
            return documents
        kept = [[sentence for sentence in document if sentence] for document in documents]
        sentences = list(chain.from_iterable(kept))
        tokens = np.fromiter(chain.from_iterable(sentences), np.int32)
        return cls(tokens, starts(map(len, sentences)), starts(map(len, kept)))


def starts(lengths: Iterable[int]) -> np.ndarray:
    """Where each part of a long row starts, and at the end how long it is: [3, 2] -> [0, 3, 5]."""
    return np.cumsum([0, *lengths])
