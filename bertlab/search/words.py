"""How often each of many texts holds each word: the index of a search by words, kept between searches.

Shapes: N texts, V words.
"""

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.sparse import csc_array

from bertlab.search import stems as endings
from bertlab.search.cache import cached
from bertlab.search.stems import stem, stems

SYNONYMS = Path(__file__).with_name("synonyms.txt")


@dataclass(frozen=True)
class WordCounts:
    """`counts` (N, V): of a word in a text; `vocabulary`: word -> its column; `cut` made words of the texts."""

    counts: csc_array
    vocabulary: dict[str, int]
    cut: Callable[[str], list[str]]

    @classmethod
    def of(cls, texts: Sequence[str], cut: Callable[[str], list[str]] = stems) -> "WordCounts":
        """Count the words of the texts."""
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer(analyzer=cut, dtype=np.int32)
        try:
            counts = csc_array(vectorizer.fit_transform(texts))
        except ValueError:  # no text has a word that counts
            return cls(csc_array((len(texts), 0), dtype=np.int32), {}, cut)
        return cls(counts, {word: int(column) for word, column in vectorizer.vocabulary_.items()}, cut)

    def times(self, word: str) -> np.ndarray:
        """Return how often each text holds the word: (N,)."""
        found = np.zeros(self.counts.shape[0])
        if (column := self.vocabulary.get(word)) is not None:
            start, end = self.counts.indptr[column : column + 2]
            found[self.counts.indices[start:end]] = self.counts.data[start:end]
        return found

    def lengths(self) -> np.ndarray:
        """Return the number of words of each text: (N,)."""
        return np.asarray(self.counts.sum(axis=1), dtype=float)


def kept_words(texts: Sequence[str]) -> WordCounts:
    """Return the counts of the stems of the texts, kept from an earlier call if the texts are the same."""
    digest = hashlib.sha256(Path(endings.__file__).read_bytes())
    digest.update("\0".join(texts).encode("utf-8", "surrogatepass"))

    def made() -> bytes:
        return _packed(WordCounts.of(texts))

    return cached(f"words-{len(texts)}", digest.hexdigest(), made, lambda content: _unpacked(content, len(texts)))


def _packed(words: WordCounts) -> bytes:
    names = "\n".join(sorted(words.vocabulary, key=words.vocabulary.__getitem__))
    file = io.BytesIO()
    counts = words.counts
    np.savez(file, names=np.array(names), data=counts.data, indices=counts.indices, indptr=counts.indptr)
    return file.getvalue()


def _unpacked(content: bytes, texts: int) -> WordCounts:
    with np.load(io.BytesIO(content)) as arrays:
        names = str(arrays["names"]).split("\n") if arrays["data"].size else []
        counts = csc_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(texts, len(names)))
    return WordCounts(counts, {word: column for column, word in enumerate(names)}, stems)


@cache
def synonyms() -> dict[str, frozenset[str]]:
    """Return stem -> the stems of the other words of its groups, from synonyms.txt."""
    found: dict[str, frozenset[str]] = {}
    for line in SYNONYMS.read_text(encoding="utf-8").splitlines():
        group = frozenset(map(stem, line.partition("#")[0].split()))
        for word in group:
            found[word] = found.get(word, frozenset()) | (group - {word})
    return found
