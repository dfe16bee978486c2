"""What a loss has to be compared with: guessing, word frequency, and the two neighbours of the gap."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor


class NeighbourBaselines:
    """Unigram and two-sided bigram guesses of hidden tokens, counted on the training text.

    The two-sided bigram guesses w between a and c by p(w | a before) p(w | c after) / p(w). Like the model it sees
    the corrupted input: a neighbour that is [MASK] or outside the text tells nothing.
    """

    def __init__(self, documents: Iterable[Sequence[Sequence[int]]], vocab_size: int, special_ids: Sequence[int]):
        """Count `documents` (each sentences of token ids)."""
        streams = [np.fromiter(chain.from_iterable(document), np.int64) for document in documents]
        left, right = (np.concatenate([s[part] for s in streams]) for part in (slice(-1), slice(1, None)))
        counts = np.bincount(np.concatenate(streams), minlength=vocab_size) + 0.01
        self.unigram = torch.tensor(counts / counts.sum(), dtype=torch.float32)  # (V,)
        self.special = np.array(list(special_ids))
        self.after, self.before = PairCounts(left, right, vocab_size), PairCounts(right, left, vocab_size)

    def unigram_log_probabilities(self, count: int) -> Tensor:
        return self.unigram.log().expand(count, -1)  # (M, V)

    def bigram_log_probabilities(self, before: Tensor, after: Tensor) -> Tensor:
        """For gaps between tokens `before` (M,) and `after` (M,): log-probabilities (M, V)."""
        logs = self._given(before, self.after) + self._given(after, self.before)
        return (logs - self.unigram.log()).log_softmax(dim=-1)

    def _given(self, context: Tensor, counts: "PairCounts") -> Tensor:
        """log p(w | context) (M, V), smoothed with the unigram; the unigram where the context is special."""
        wanted, row = context.unique(return_inverse=True)
        table = counts.rows(wanted.numpy())  # (U, V)
        table[np.isin(wanted.numpy(), self.special)] = 0
        smoothed = torch.from_numpy(table) + self.unigram  # add-one, spread as the unigram
        return (smoothed / smoothed.sum(-1, keepdim=True)).log()[row]


class PairCounts:
    """How often each word stands beside each context: a sparse table, sorted by context and word."""

    def __init__(self, contexts: np.ndarray, words: np.ndarray, vocab_size: int):
        cells, self.counts = np.unique(contexts * vocab_size + words, return_counts=True)
        self.words, self.vocab_size = cells % vocab_size, vocab_size
        self.starts = np.searchsorted(cells, np.arange(vocab_size + 1) * vocab_size)  # where each context begins

    def rows(self, contexts: np.ndarray) -> np.ndarray:
        """The counts beside each of `contexts` (U,), as float32 (U, V)."""
        table = np.zeros((len(contexts), self.vocab_size), np.float32)
        for row, start, end in zip(table, self.starts[contexts], self.starts[contexts + 1], strict=True):
            row[self.words[start:end]] = self.counts[start:end]
        return table
