"""What a loss has to be compared with: guessing, word frequency, and the two neighbours of the gap."""

from collections.abc import Iterable, Sequence

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
        streams = [np.array([t for s in document for t in s], dtype=np.int64) for document in documents]
        self.left = np.concatenate([s[:-1] for s in streams])
        self.right = np.concatenate([s[1:] for s in streams])
        counts = np.bincount(np.concatenate(streams), minlength=vocab_size) + 0.01
        self.unigram = torch.tensor(counts / counts.sum(), dtype=torch.float32)  # (V,)
        self.vocab_size, self.special = vocab_size, torch.tensor(list(special_ids))

    def unigram_log_probabilities(self, count: int) -> Tensor:
        return self.unigram.log().expand(count, -1)  # (M, V)

    def bigram_log_probabilities(self, before: Tensor, after: Tensor) -> Tensor:
        """For gaps between tokens `before` (M,) and `after` (M,): log-probabilities (M, V)."""
        logs = self._given(before, self.left, self.right) + self._given(after, self.right, self.left)
        return (logs - self.unigram.log()).log_softmax(dim=-1)

    def _given(self, context: Tensor, contexts: np.ndarray, words: np.ndarray) -> Tensor:
        """log p(w | context) (M, V), smoothed with the unigram; the unigram where the context is special."""
        wanted, row = context.unique(return_inverse=True)
        index = np.full(self.vocab_size, -1)
        index[wanted.numpy()] = np.arange(len(wanted))
        index[self.special.numpy()] = -1
        known = index[contexts] >= 0
        cells = index[contexts[known]] * self.vocab_size + words[known]
        table = np.bincount(cells, minlength=len(wanted) * self.vocab_size).reshape(len(wanted), -1)
        table = torch.tensor(table, dtype=torch.float32) + self.unigram  # add-one, spread as the unigram
        return (table / table.sum(-1, keepdim=True)).log()[row]
