"""Rank units against a question: by meaning (cosine of vectors), by words (TF-IDF or BM25), or by both.

Shapes: N units, Q questions.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np

from bertlab.search.units import Unit
from bertlab.search.vectors import TextEncoder

if TYPE_CHECKING:
    from torch import Tensor

Ranker = Callable[[str], np.ndarray]  # a question -> how well each unit fits (N,): higher is better
WORD = re.compile(r"[a-z0-9]+")
K1, B = 1.2, 0.75  # of BM25, as usual
DEPTH = 0.35  # chosen on tests/search_dev_questions.toml
FUSION = 60  # of reciprocal ranks (Cormack et al. 2009)


def by_meaning(encoder: TextEncoder, vectors: "Tensor") -> Ranker:
    """Rank by the cosine of the question's vector with those (N, H) of the units."""
    return lambda question: (vectors @ encoder.encode([question])[0]).numpy()


def by_tfidf(texts: Sequence[str]) -> Ranker:
    """Rank by the cosine of TF-IDF vectors, as scikit-learn makes them."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    known = vectorizer.fit_transform(texts)  # (N, words)
    return lambda question: (known @ vectorizer.transform([question]).T).toarray()[:, 0]


def by_words(texts: Sequence[str], depths: Sequence[int] = ()) -> Ranker:
    """Rank by BM25 (Robertson and Zaragoza 2009) over the words of the question but the most common ones of English.

    With `depths`, the dots in the name of each text, numpy.linspace comes before what lies deeper in a package.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    texts = [text.lower() for text in texts]
    lengths = np.array([text.count(" ") + 1 for text in texts])
    shares = 1 - B + B * lengths / lengths.mean()
    prior = 1 / (1 + DEPTH * np.array(depths or [0] * len(texts)))

    def rank(question: str) -> np.ndarray:
        scores = np.zeros(len(texts))
        for word in sorted(set(WORD.findall(question.lower())) - ENGLISH_STOP_WORDS):
            times = _counts(word, texts)
            holders = (times > 0).sum()
            rarity = log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            scores += rarity * times * (K1 + 1) / (times + K1 * shares)
        return scores * prior

    return rank


def _counts(word: str, texts: Sequence[str]) -> np.ndarray:
    """Return how often each lower-case text holds the word: (N,)."""
    whole = re.compile(rf"(?<![a-z0-9]){word}(?![a-z0-9])")
    return np.array([len(whole.findall(text)) if word in text else 0 for text in texts])


def by_both(*rankers: Ranker) -> Ranker:
    """Rank by the sum of 1 / (60 + rank) over several rankers (reciprocal rank fusion, Cormack et al. 2009)."""

    def rank(question: str) -> np.ndarray:
        return sum((1 / (FUSION + ranks(ranker(question))) for ranker in rankers), start=np.zeros(()))

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
