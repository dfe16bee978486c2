"""The ladder of baselines: what guesses without any learning of ours reach on the same masked words."""

import math
import random
from collections.abc import Callable, Iterator
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


@dataclass(frozen=True)
class Rung:
    """One baseline: its mean loss in nats per masked word and the share it guesses right."""

    name: str
    loss: float
    top1: float


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
    size = tokenizer.vocab_size
    guesses: dict[str, Guess] = {
        "uniform: ln V": lambda before, after: torch.full((len(before), size), -math.log(size)),
        "word frequency": lambda before, after: baselines.unigram_log_probabilities(len(before)),
        "two neighbours": baselines.bigram_log_probabilities,
    }
    return measure(guesses, documents, tokenizer, masking, max_tokens=max_tokens, pairs=pairs, seed=seed)


def measure(guesses: dict[str, Guess], documents: Documents, tokenizer: Tokenizer, masking: Masking, **sample):
    """A rung for each way of guessing, all of them on the same masked words."""
    batches = list(masked_words(documents, tokenizer, masking, **sample))
    words = sum(len(labels) for _, _, labels in batches)
    rungs = []
    for name, guess in guesses.items():
        loss = hits = 0.0
        for before, after, labels in batches:
            scores = guess(before, after)  # (M, V)
            loss += float(F.nll_loss(scores, labels, reduction="sum"))
            hits += float((scores.argmax(-1) == labels).sum())
        rungs.append(Rung(name, loss / words, hits / words))
    return rungs


def masked_words(
    documents: Documents, tokenizer: Tokenizer, masking: Masking, *, max_tokens: int, pairs: int, seed: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """For every hidden word: what is visible before and after it, and the word itself; (M,) each."""
    chosen = list(sentence_pairs(documents, max_tokens, random.Random(seed)))[:pairs]
    generator = torch.Generator().manual_seed(seed)
    for first in range(0, len(chosen), 50):
        batch = masked_batch(chosen[first : first + 50], tokenizer, generator, masking)
        row, place = (batch["labels"] != IGNORED).nonzero(as_tuple=True)  # (M,), (M,); never at either end
        ids = batch["input_ids"]
        yield ids[row, place - 1], ids[row, place + 1], batch["labels"][row, place]
