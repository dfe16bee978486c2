"""Baselines: what counted words reach, without a network, on the same masked words."""

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.inputs.masking import Masking
from bertlab.inputs.pairs import SecondTask, sentence_pairs
from bertlab.io.atomic import atomic_write
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents, masked_batch, next_token_batch


class NeighbourBaselines:
    """Unigram and two-sided bigram guesses of masked tokens, counted on the training text.

    The two-sided bigram guesses w between a and c by p(w | a before) p(w | c after) / p(w). Like the model it sees the
    corrupted input: a neighbour that is [MASK] or outside the text is ignored. [UNK] is never asked for, so it is not
    counted: `unknown` is its share of the text.
    """

    def __init__(self, documents: Iterable[Sequence[Sequence[int]]], vocab_size: int, special_ids: Sequence[int]):
        """Count `documents` (each sentences of token ids)."""
        from scipy.sparse import coo_array

        streams = [np.fromiter(chain.from_iterable(document), np.int64) for document in documents]
        left, right = (np.concatenate([s[part] for s in streams]) for part in (slice(-1), slice(1, None)))
        found, special = np.bincount(np.concatenate(streams), minlength=vocab_size), list(special_ids)
        self.unknown = float(found[special].sum() / max(1, found.sum()))
        found[special] = 0
        counts = found + 0.01
        self.unigram = torch.tensor(counts / counts.sum(), dtype=torch.float32)  # (V,)
        words = ~(np.isin(left, special) | np.isin(right, special))
        left, right = left[words], right[words]
        pairs = coo_array((np.ones(len(left), int), (left, right)), shape=(vocab_size, vocab_size))
        self.after, self.before = pairs.tocsr(), pairs.T.tocsr()  # (V, V): the counts of each word beside each other

    def bigram_log_probabilities(self, before: Tensor, after: Tensor) -> Tensor:
        """Return log-probabilities (M, V) of the words between tokens `before` (M,) and `after` (M,)."""
        logs = self._given(before, self.after) + self._given(after, self.before)
        return (logs - self.unigram.log()).log_softmax(dim=-1)

    def _given(self, context: Tensor, counts: Any) -> Tensor:
        """Return log p(w | context) (M, V), smoothed with the unigram; the unigram where the context is special, as no
        word is counted beside that."""
        wanted, row = context.unique(return_inverse=True)
        table = counts[wanted.numpy()].toarray().astype(np.float32)  # (U, V)
        smoothed = torch.from_numpy(table) + self.unigram  # add-one, spread as the unigram
        return (smoothed / smoothed.sum(-1, keepdim=True)).log()[row]


Guess = Callable[[Tensor, Tensor], Tensor]  # neighbours before and after (M,), (M,) -> log-probabilities (M, V)
Asked = tuple[Tensor, Tensor, Tensor]  # the visible tokens before and after each word asked for, and that word: (M,)
BATCH = 50  # pairs


@dataclass(frozen=True)
class Baseline:
    """What one way of guessing reaches: mean loss in nats per word asked for, and the share of words guessed right."""

    name: str
    loss: float
    top1: float

    def __str__(self) -> str:
        return f"{self.name} {self.loss:.2f}, {self.top1:.3f}"


def save_baselines(folder: Path, baselines: Mapping[str, Mapping[str, float]]) -> None:
    """Write baselines.json into a run folder, for its learning curves: what guesses without a model reach, by name."""
    records = [{"name": name, **measures} for name, measures in baselines.items()]
    atomic_write(folder / "baselines.json", json.dumps(records, indent=2) + "\n")


def masked_baselines(
    documents: Documents,
    tokenizer: Tokenizer,
    counts: NeighbourBaselines,
    masking: Masking = Masking.PAPER,
    second_task: SecondTask = "next",
    *,
    max_tokens: int = 128,
    pairs: int = 300,
) -> list[Baseline]:
    """Measure uniform guessing, word frequency and the two neighbours on masked words of `documents`."""
    batches = masked_batches(documents, tokenizer, masking, second_task, max_tokens=max_tokens, pairs=pairs)
    return measure_guesses(simple_guesses(counts), [masked_words(batch) for batch in batches])


def simple_guesses(counts: NeighbourBaselines, last: str = "two neighbours") -> dict[str, Guess]:
    """Return the ways of guessing from the highest loss to the lowest; the one by neighbours is called `last`."""
    size = len(counts.unigram)
    return {
        "uniform: ln V": lambda before, after: torch.full((len(before), size), -math.log(size)),
        "word frequency": lambda before, after: counts.unigram.log().expand(len(before), -1),
        last: counts.bigram_log_probabilities,
    }


def measure_guesses(guesses: dict[str, Guess], batches: Sequence[Asked]) -> list[Baseline]:
    """Measure each way of guessing on the same words."""
    words = sum(len(labels) for _, _, labels in batches)
    measured = []
    for name, guess in guesses.items():
        sums = [loss_and_hits(guess(before, after), labels) for before, after, labels in batches]
        measured.append(Baseline(name, sum(loss for loss, _ in sums) / words, sum(hits for _, hits in sums) / words))
    return measured


def loss_and_hits(log_probabilities: Tensor, labels: Tensor) -> tuple[float, float]:
    """Return loss and number of right first guesses, summed over the words: (M, V), (M,)."""
    loss = F.nll_loss(log_probabilities, labels, reduction="sum")
    return float(loss), float((log_probabilities.argmax(-1) == labels).sum())


def masked_batches(
    documents: Documents,
    tokenizer: Tokenizer,
    masking: Masking,
    second_task: SecondTask = "next",
    *,
    max_tokens: int,
    pairs: int,
    seed: int = 0,
) -> Iterator[dict[str, Tensor]]:
    """Yield batches of at most `pairs` sentence pairs of `documents`, masked; the same ones for the same seed."""
    chosen = sentence_pairs(documents, max_tokens, random.Random(seed), second_task)[:pairs]
    generator = torch.Generator().manual_seed(seed)
    for first in range(0, len(chosen), BATCH):
        yield masked_batch(chosen[first : first + BATCH], tokenizer, generator, masking)


def next_token_batches(
    documents: Documents, tokenizer: Tokenizer, *, max_tokens: int, texts: int
) -> Iterator[dict[str, Tensor]]:
    """Yield batches of at most `texts` texts of `documents`, as long as fit, for a left-to-right language model."""
    chosen = sentence_pairs(documents, max_tokens, random.Random(0), "none")[:texts]
    for first in range(0, len(chosen), BATCH):
        yield next_token_batch(chosen[first : first + BATCH], tokenizer)


def masked_words(batch: dict[str, Tensor]) -> Asked:
    """Return every masked word with its neighbours."""
    row, position = (batch["labels"] != IGNORED).nonzero(as_tuple=True)  # (M,), (M,); never at either end
    ids = batch["input_ids"]
    return ids[row, position - 1], ids[row, position + 1], batch["labels"][row, position]


def next_words(batch: dict[str, Tensor], nothing: int) -> Asked:
    """Return every next word with the word before it; what comes after is unseen: the id `nothing`."""
    asked = batch["labels"] != IGNORED  # (B, S)
    before = batch["input_ids"][asked]  # (M,)
    return before, torch.full_like(before, nothing), batch["labels"][asked]
