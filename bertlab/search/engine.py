"""A corpus, a model and a way to rank, ready for questions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Literal

from bertlab.errors import InputError, brief
from bertlab.search.ranking import Hit, Ranker, best_hits, by_both, by_meaning, by_words
from bertlab.search.units import Unit, read_units
from bertlab.search.vectors import TextEncoder, kept_vectors

MODEL = "english"  # the bundled one
Way = Literal["both", "meaning", "words"]


@dataclass(frozen=True)
class Search:
    """Units, the ranker that orders them, and the model that gives the vectors, None where words alone count."""

    units: Sequence[Unit]
    ranker: Ranker
    encoder: TextEncoder | None = None

    @classmethod
    def open(
        cls,
        corpus: Sequence[str | Path] = ("pydoc",),
        model: str | Path | None = None,
        by: Way | None = None,
        *,
        progress: bool = False,
    ) -> "Search":
        """Read the corpus, or take what is kept of it from an earlier call; "meaning" encodes it as a whole.

        `model` is `english` if none is given. `by` is "both" if not given: the texts that fit best by words, ordered by
        words and meaning; "words" opens no model. InputError: no such model; a corpus that is missing or empty.

        >>> for hit in Search.open(model="runs/my-search").search("how do I read a csv"):
        ...     print(hit.rank, hit.unit.name, hit.unit.sentence)
        """
        model, by = model or MODEL, by or "both"
        encoder = None if by == "words" else TextEncoder.open(model)
        if encoder and encoder.similarity != "cosine":
            asked = f"similarity_fn_name is {brief(encoder.similarity)} in config_sentence_transformers.json"
            raise InputError(f"{model}: {asked}; bertlab compares by the cosine alone: choose another model")
        units = read_units(corpus, progress=progress)
        texts = [unit.text for unit in units]
        if encoder and by == "meaning":
            return cls(units, by_meaning(encoder, kept_vectors(encoder, model, texts, progress=progress)), encoder)
        words = by_words(texts)
        return cls(units, by_both(words, encoder, texts) if encoder else words, encoder)

    def search(self, question: str, top: int = 5) -> list[Hit]:
        """Return the `top` units that fit the question best; by words, too, only those with one of its words where
        there are many. InputError: the question is empty."""
        if not question.strip():
            raise InputError("the question is empty: write at least one word")
        scores = self.ranker(question)
        hits = [hit for hit in best_hits(self.units, scores, scores, top) if isfinite(hit.similarity)]
        if self.encoder is None:
            return [hit for hit in hits if hit.similarity > 0]
        cosines = self.encoder.cosines(question, [hit.unit.text for hit in hits]) if hits else ()
        return [replace(hit, similarity=float(cosine)) for hit, cosine in zip(hits, cosines, strict=True)]
