"""Rank units against a question: by meaning (cosine of vectors), by words (BM25), or by both. Shapes: N units."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertlab.search.units import Unit
from bertlab.search.vectors import TextEncoder
from bertlab.search.words import counted_words

if TYPE_CHECKING:
    from torch import Tensor

Ranker = Callable[[str], np.ndarray]  # a question -> how well each unit fits (N,): higher is better
SHORTLIST = 150  # texts that a model reads for a question
MEANING = 3.0  # what a cosine counts beside the share of the best score, by dev_questions.toml of benchmarks


def by_meaning(encoder: TextEncoder, vectors: "Tensor") -> Ranker:
    """Rank by the cosine of the question's vector with those (N, H) of the units."""
    import torch.nn.functional as F

    vectors = F.normalize(vectors, dim=-1)
    return lambda question: (vectors @ F.normalize(encoder.encode([question])[0], dim=-1)).numpy()


def by_words(texts: Sequence[str]) -> Ranker:
    """Rank by BM25 (Robertson and Zaragoza 2009), as the package bm25s computes it (Lù 2024)."""
    from bm25s import BM25

    counted = [counted_words(text) for text in texts]
    index = BM25(k1=1.2, b=0.75)
    if any(counted):
        index.index(counted, show_progress=False)

    def rank(question: str) -> np.ndarray:
        words = list(dict.fromkeys(counted_words(question)))
        return index.get_scores(words) if words and any(counted) else np.zeros(len(texts))

    return rank


def by_both(words: Ranker, encoder: TextEncoder, texts: Sequence[str]) -> Ranker:
    """Rank the SHORTLIST texts that fit best by words: by each one's share of the best score, plus MEANING times its
    cosine with the question. The others follow by words; those with no word of it have -inf. A corpus of no more texts
    is ranked whole.

    So a model reads few texts for a question, and no collection is too large for it.
    """

    def rank(question: str) -> np.ndarray:
        fits = words(question)
        shares = fits / (fits.max() or 1.0)
        listed = np.argsort(-fits, kind="stable")[:SHORTLIST]
        if len(fits) > SHORTLIST:
            listed = listed[fits[listed] > 0]
        scores = np.where(fits > 0, shares - MEANING, -np.inf)  # no cosine is below -1
        if len(listed):
            scores[listed] = shares[listed] + MEANING * encoder.cosines(question, [texts[number] for number in listed])
        return scores

    return rank


def ranks(scores: np.ndarray) -> np.ndarray:
    """Return the rank of each score, from 1 for the highest; equal ones in their order."""
    order = np.argsort(-scores, kind="stable")
    found = np.empty(len(scores))
    found[order] = np.arange(1, len(scores) + 1)
    return found


@dataclass(frozen=True)
class Hit:
    """A unit that was found: its rank from 1, and the cosine of its vector with that of the question; where only words
    count, how well they fit (BM25)."""

    rank: int
    similarity: float
    unit: Unit


def best_hits(units: Sequence[Unit], scores: np.ndarray, similarity: np.ndarray, top: int) -> list[Hit]:
    """Return the `top` units with the highest scores."""
    order = np.argsort(-scores, kind="stable")[:top]
    return [Hit(rank, float(similarity[number]), units[number]) for rank, number in enumerate(order, start=1)]
