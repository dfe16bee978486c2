"""The ladder of baselines: what guesses without any learning of ours reach on the same masked words."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.inputs.masking import IGNORED, Masking
from bertlab.inputs.pairs import sentence_pairs
from bertlab.tokenizer import Tokenizer
from bertlab.training.baselines import NeighbourBaselines
from bertlab.training.pretrain import Documents, masked_batch

Guess = Callable[[Tensor, Tensor], Tensor]  # neighbours before and after (M,), (M,) -> log-probabilities (M, V)
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
    *,
    max_tokens: int = 128,
    pairs: int = 300,
    seed: int = 0,
) -> list[Rung]:
    """Uniform guessing, word frequency, and the two neighbours, on masked words of `documents`."""
    sample = {"max_tokens": max_tokens, "pairs": pairs, "seed": seed}
    return measure(simple_guesses(baselines), documents, tokenizer, masking, **sample)


def simple_guesses(baselines: NeighbourBaselines) -> dict[str, Guess]:
    """From the highest loss to the lowest."""
    size = len(baselines.unigram)
    return {
        "uniform: ln V": lambda before, after: torch.full((len(before), size), -math.log(size)),
        "word frequency": lambda before, after: baselines.unigram_log_probabilities(len(before)),
        "two neighbours": baselines.bigram_log_probabilities,
    }


def measure(guesses: dict[str, Guess], documents: Documents, tokenizer: Tokenizer, masking: Masking, **sample):
    """A rung for each way of guessing, all of them on the same masked words."""
    return climb(guesses, list(masked_batches(documents, tokenizer, masking, **sample)))


def climb(guesses: dict[str, Guess], batches: Sequence[dict[str, Tensor]]) -> list[Rung]:
    """A rung for each way of guessing the masked words of `batches`."""
    gaps = [masked_words(batch) for batch in batches]
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
    documents: Documents, tokenizer: Tokenizer, masking: Masking, *, max_tokens: int, pairs: int, seed: int
) -> Iterator[dict[str, Tensor]]:
    """At most so many pairs of `documents`, hidden; the same ones every time."""
    chosen = list(sentence_pairs(documents, max_tokens, random.Random(seed)))[:pairs]
    generator = torch.Generator().manual_seed(seed)
    for first in range(0, len(chosen), BATCH):
        yield masked_batch(chosen[first : first + BATCH], tokenizer, generator, masking)


def masked_words(batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """For every hidden word: what is visible before and after it, and the word itself; (M,) each."""
    row, place = (batch["labels"] != IGNORED).nonzero(as_tuple=True)  # (M,), (M,); never at either end
    ids = batch["input_ids"]
    return ids[row, place - 1], ids[row, place + 1], batch["labels"][row, place]
