"""The ladder of baselines: what guesses without any learning of ours reach on the same masked words."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.inputs.masking import IGNORED, Masking
from bertlab.inputs.pairs import SecondTask, sentence_pairs
from bertlab.tokenizer import Tokenizer
from bertlab.training.baselines import NeighbourBaselines
from bertlab.training.batches import Documents, masked_batch, next_token_batch

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
