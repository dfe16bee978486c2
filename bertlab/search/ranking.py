"""Rank units against a question: by meaning (cosine of vectors), by words (TF-IDF or BM25), or by both.

Shapes: N units, Q questions.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from bertlab.search.units import Unit
from bertlab.search.vectors import TextEncoder
from bertlab.search.words import WordCounts

if TYPE_CHECKING:
    from torch import Tensor

Ranker = Callable[[str], np.ndarray]  # a question -> how well each unit fits (N,): higher is better
K1, B = 1.2, 0.75  # of BM25, as usual
SYNONYM, KNOWN, USED, DEPTH = 0.6, 0.6, 0.5, 0.1  # chosen on tests/search/dev_questions.toml and more_questions.toml
NOTHING: Mapping[str, Collection[str]] = MappingProxyType({})
SHORTLIST = 150  # texts that a model reads for a question


def by_meaning(encoder: TextEncoder, vectors: "Tensor") -> Ranker:
    """Rank by the cosine of the question's vector with those (N, H) of the units."""
    return lambda question: (vectors @ encoder.encode([question])[0]).numpy()


def by_tfidf(texts: Sequence[str]) -> Ranker:
    """Rank by the cosine of TF-IDF vectors, as scikit-learn makes them."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    known = vectorizer.fit_transform(texts)  # (N, words)
    return lambda question: (known @ vectorizer.transform([question]).T).toarray()[:, 0]


def by_words(
    words: WordCounts, prior: np.ndarray | float = 1.0, synonyms: Mapping[str, Collection[str]] = NOTHING
) -> Ranker:
    """Rank by BM25 (Robertson and Zaragoza 2009) times `prior` (N,).

    A word of the question and its synonyms count as one word; a synonym in a text weighs SYNONYM of the word itself.
    """
    lengths = words.lengths()
    shares = 1 - B + B * lengths / max(1, lengths.mean())

    def rank(question: str) -> np.ndarray:
        scores = np.zeros(len(lengths))
        for word in dict.fromkeys(words.cut(question)):
            times = words.times(word)
            for other in synonyms.get(word, ()):
                times = np.maximum(times, SYNONYM * words.times(other))
            holders = (times > 0).sum()
            rarity = log(1 + (len(lengths) - holders + 0.5) / (holders + 0.5))
            scores += rarity * times * (K1 + 1) / (times + K1 * shares)
        return scores * prior

    return rank


def priors(units: Sequence[Unit]) -> np.ndarray:
    """Return what each unit is worth before any question (N,): more, the more packages use it or import its module, and
    less, the deeper it lies: numpy.linspace comes before what few use or what is nested in a package."""
    known, used, depth = (np.array([getattr(unit, name) for unit in units]) for name in ("known", "used", "depth"))
    return (1 + KNOWN * np.log1p(known) + USED * np.log1p(used)) / (1 + DEPTH * depth)


def by_both(words: Ranker, encoder: TextEncoder, texts: Sequence[str]) -> Ranker:
    """Rank the SHORTLIST texts that fit best by words: by each one's share of the best score, plus its cosine with the
    question. The others follow by words; those with no word of it have -inf. A corpus of no more texts is ranked whole.

    So a model reads few texts for a question, and no collection is too large for it. That both count alike was chosen
    on tests/search/dev_questions.toml and more_questions.toml.
    """

    def rank(question: str) -> np.ndarray:
        fits = words(question)
        shares = fits / (fits.max() or 1.0)
        listed = np.argsort(-fits, kind="stable")[:SHORTLIST]
        if len(fits) > SHORTLIST:
            listed = listed[fits[listed] > 0]
        scores = np.where(fits > 0, shares - 1, -np.inf)  # no cosine is below -1
        if len(listed):
            scores[listed] = shares[listed] + encoder.cosines(question, [texts[number] for number in listed])
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
