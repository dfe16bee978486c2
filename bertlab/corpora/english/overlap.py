"""Overlap of training text with texts to measure on: runs of 13 words in both (Brown et al. 2020, appendix C)."""

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from bertlab.corpora.examples import Document
from bertlab.corpora.letters import WORD

RUN = 13  # words, in small letters and without punctuation
BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so no bit of an early word is lost

REMOVED = (
    "Documents (at most 50 sentences or a paragraph more, or one review) that share a run of 13 words with a text to "
    "measure on were removed before training:"
)


class _Numbers(dict):
    """Word -> its hash, computed once."""

    def __missing__(self, word: str) -> int:
        number = self[word] = zlib.crc32(word.encode("utf-8", "surrogatepass")) + 1
        return number


class Overlap:
    """Texts to measure on, by name, as the hashes of their runs of 13 words.

    A text of fewer words has none, and is never found.
    """

    def __init__(self, tests: Mapping[str, Iterable[str]]):
        """Hash all runs of the texts of each test set."""
        self._numbers = _Numbers()
        self.names = list(tests)
        none = np.zeros(0, np.uint64)
        found = [np.unique(np.concatenate([none, *map(self.runs, texts)])) for texts in tests.values()]
        runs = np.concatenate([none, *found])
        owners = np.repeat(np.arange(len(found)), [len(part) for part in found])
        order = runs.argsort(kind="stable")
        self._runs, self._owners = runs[order], owners[order]

    def shared_with(self, text: str) -> list[str]:
        """Return the names of the test sets of which `text` has a run, each once."""
        first, last = self._positions(text)
        found = np.flatnonzero(first < last)
        spans = zip(first[found].tolist(), last[found].tolist(), strict=True)
        owners = {owner for start, end in spans for owner in self._owners[start:end].tolist()}
        return [self.names[owner] for owner in sorted(owners)]

    def first_shared(self, text: str) -> str:
        """Return the first 13 words of `text` in a row that a test set has too, in small letters, or nothing."""
        first, last = self._positions(text)
        shared = np.flatnonzero(first < last)
        if not len(shared):
            return ""
        text = text.lower()
        words = [*WORD.finditer(text)][shared[0] : shared[0] + RUN]
        return text[words[0].start() : words[-1].end()]

    def runs(self, text: str) -> np.ndarray:
        """Return the hash of each run of 13 words, (N - 12,) uint64: none where there are fewer than 13."""
        words = WORD.findall(text.lower())
        ids = np.fromiter(map(self._numbers.__getitem__, words), np.uint64, len(words))  # (N,)
        hashes = np.zeros(max(0, len(ids) - RUN + 1), np.uint64)
        for position in range(RUN if len(hashes) else 0):
            hashes = hashes * BASE + ids[position : position + len(hashes)]  # modulo 2^64
        return hashes

    def _positions(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Return where each run of `text` begins and ends among the sorted runs, (N,) each; equal: it is not there."""
        runs = self.runs(text)
        return self._runs.searchsorted(runs, "left"), self._runs.searchsorted(runs, "right")


@dataclass
class Removed:
    """What a pass over the training text left: words of each genre kept and removed, and why."""

    kept: Counter[str] = field(default_factory=Counter)  # genre -> words
    removed: Counter[str] = field(default_factory=Counter)  # genre -> words
    documents: Counter[tuple[str, str]] = field(default_factory=Counter)  # (test set, genre) -> documents that share

    def add(self, document: Document, shared: list[str]) -> None:
        words = self.removed if shared else self.kept
        words[document.genre] += len(document.text.split())
        self.documents.update((name, document.genre) for name in shared)

    def describe(self) -> str:
        """Describe the overlap in Markdown, for a model card: a row for each test set, a column for each genre."""
        genres = list(self.kept | self.removed)
        names = dict.fromkeys(name for name, _ in self.documents)
        rows = [["documents that share 13 words with", *genres], ["---"] * (1 + len(genres))]
        rows += [[name, *(f"{self.documents[name, genre]:,}" for genre in genres)] for name in names]
        rows.append(["words removed with them", *(f"{self.removed[genre]:,}" for genre in genres)])
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        return f"{REMOVED}\n\n{table}"


def without_overlap(documents: Iterable[Document], overlap: Overlap, removed: Removed) -> Iterator[Document]:
    """Yield the documents that share no run with a test set, counting all of them in `removed`."""
    for document in documents:
        shared = overlap.shared_with(document.text)
        removed.add(document, shared)
        if not shared:
            yield document
