"""The baselines: what guesses without any learning of ours reach on the same masked words."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.inputs.masking import Masking
from bertlab.inputs.pairs import SecondTask, sentence_pairs
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents, masked_batch, next_token_batch


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


Guess = Callable[[Tensor, Tensor], Tensor]  # neighbours before and after (M,), (M,) -> log-probabilities (M, V)
Gaps = tuple[Tensor, Tensor, Tensor]  # what is visible before and after each word asked for, and that word: (M,) each
BATCH = 50  # pairs


@dataclass(frozen=True)
class Rung:
    """One baseline: its mean loss in nats per masked word and the share it guesses right."""

    name: str
    loss: float
    top1: float

    def __str__(self) -> str:
        return f"{self.name} {self.loss:.2f}, {self.top1:.3f}"


def ladder(
    documents: Documents,
    tokenizer: Tokenizer,
    baselines: NeighbourBaselines,
    masking: Masking = Masking(),  # noqa: B008 (frozen, so safe to share)
    second_task: SecondTask = "next",
    *,
    max_tokens: int = 128,
    pairs: int = 300,
    seed: int = 0,
) -> list[Rung]:
    """Uniform guessing, word frequency, and the two neighbours, on masked words of `documents`."""
    sample = {"second_task": second_task, "max_tokens": max_tokens, "pairs": pairs, "seed": seed}
    return measure(simple_guesses(baselines), documents, tokenizer, masking, **sample)


def next_token_ladder(
    documents: Documents,
    tokenizer: Tokenizer,
    baselines: NeighbourBaselines,
    *,
    max_tokens: int = 128,
    texts: int = 300,
    seed: int = 0,
) -> list[Rung]:
    """Uniform guessing, word frequency, and the word before, on every next word of `documents`."""
    batches = next_token_batches(documents, tokenizer, max_tokens=max_tokens, texts=texts, seed=seed)
    guesses = simple_guesses(baselines, "the word before")
    return climb(guesses, [next_words(batch, tokenizer.pad_token_id) for batch in batches])


def simple_guesses(baselines: NeighbourBaselines, last: str = "two neighbours") -> dict[str, Guess]:
    """From the highest loss to the lowest."""
    size = len(baselines.unigram)
    return {
        "uniform: ln V": lambda before, after: torch.full((len(before), size), -math.log(size)),
        "word frequency": lambda before, after: baselines.unigram_log_probabilities(len(before)),
        last: baselines.bigram_log_probabilities,
    }


def measure(guesses: dict[str, Guess], documents: Documents, tokenizer: Tokenizer, masking: Masking, **sample):
    """A rung for each way of guessing, all of them on the same masked words."""
    return climb(guesses, [masked_words(batch) for batch in masked_batches(documents, tokenizer, masking, **sample)])


def climb(guesses: dict[str, Guess], gaps: Sequence[Gaps]) -> list[Rung]:
    """A rung for each way of guessing."""
    words = sum(len(labels) for _, _, labels in gaps)
    rungs = []
    for name, guess in guesses.items():
        sums = [score(guess(before, after), labels) for before, after, labels in gaps]
        loss, hits = map(sum, zip(*sums, strict=True))
        rungs.append(Rung(name, loss / words, hits / words))
    return rungs


def score(log_probabilities: Tensor, labels: Tensor) -> tuple[float, float]:
    """Loss and first guesses that are right, summed over the words: (M, V), (M,)."""
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
    seed: int,
) -> Iterator[dict[str, Tensor]]:
    """At most so many pairs of `documents`, hidden; the same ones every time."""
    chosen = sentence_pairs(documents, max_tokens, random.Random(seed), second_task)[:pairs]
    generator = torch.Generator().manual_seed(seed)
    for first in range(0, len(chosen), BATCH):
        yield masked_batch(chosen[first : first + BATCH], tokenizer, generator, masking)


def next_token_batches(
    documents: Documents, tokenizer: Tokenizer, *, max_tokens: int, texts: int, seed: int
) -> Iterator[dict[str, Tensor]]:
    """At most so many texts of `documents`, as long as fit, for a model that reads from left to right."""
    chosen = sentence_pairs(documents, max_tokens, random.Random(seed), "none")[:texts]
    for first in range(0, len(chosen), BATCH):
        yield next_token_batch(chosen[first : first + BATCH], tokenizer)


def masked_words(batch: dict[str, Tensor]) -> Gaps:
    """Of every hidden word."""
    row, place = (batch["labels"] != IGNORED).nonzero(as_tuple=True)  # (M,), (M,); never at either end
    ids = batch["input_ids"]
    return ids[row, place - 1], ids[row, place + 1], batch["labels"][row, place]


def next_words(batch: dict[str, Tensor], nothing: int) -> Gaps:
    """Of every word that is asked for at the one before it; what comes after is not seen: the id `nothing`."""
    asked = batch["labels"] != IGNORED  # (B, S)
    before = batch["input_ids"][asked]  # (M,)
    return before, torch.full_like(before, nothing), batch["labels"][asked]
