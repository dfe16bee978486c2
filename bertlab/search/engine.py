"""A corpus, a model and a way to rank, ready for questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bertlab.errors import InputError
from bertlab.io.locate import bundled_models
from bertlab.search.ranking import Hit, Ranker, best_hits, by_both, by_meaning, by_words, priors
from bertlab.search.units import Unit, read_units
from bertlab.search.vectors import kept_vectors
from bertlab.search.words import kept_words, synonyms

MODEL = "pydoc-search"  # the bundled one, where there is one
Way = Literal["both", "meaning", "words"]


@dataclass(frozen=True)
class Search:
    """Units, and the rankers that order them: `chosen` as asked for, `meaning` by cosine, None without a model."""

    units: Sequence[Unit]
    chosen: Ranker
    meaning: Ranker | None = None

    @classmethod
    def open(
        cls,
        corpus: Sequence[str | Path] = ("pydoc",),
        model: str | Path | None = None,
        by: Way | None = None,
        *,
        progress: bool = False,
    ) -> "Search":
        """Read the corpus and encode it, or take what is kept of it from an earlier call.

        Without `model` it is the bundled one; where none is bundled, only words count. `by` is "both" with a model.
        InputError: a way that needs a model, without one; no such model; a corpus that is missing or empty.

        >>> for hit in Search.open(model="runs/my-search").search("how do I read a csv"):
        ...     print(hit.rank, hit.unit.name, hit.unit.sentence)
        """
        model = model or default_model()
        by = by or ("both" if model else "words")
        if by != "words" and model is None:
            raise InputError(f"to rank by {by}, name a model with --model: bertlab finetune match trains one")
        units = read_units(corpus, progress=progress)
        words = by_words(kept_words([unit.counted for unit in units]), priors(units), synonyms())
        if model is None or by == "words":
            return cls(units, words)
        meaning = by_meaning(*kept_vectors(model, [unit.text for unit in units], progress=progress))
        return cls(units, meaning if by == "meaning" else by_both(words, meaning), meaning)

    def search(self, question: str, top: int = 5) -> list[Hit]:
        """Return the `top` units that fit the question best; by words alone only those with one of its words.
        InputError: the question is empty."""
        if not question.strip():
            raise InputError("the question is empty: write at least one word")
        scores = self.chosen(question)
        if self.meaning is None:
            return [hit for hit in best_hits(self.units, scores, scores, top) if hit.similarity > 0]
        return best_hits(self.units, scores, self.meaning(question), top)


def default_model() -> str | None:
    """Return the name of the bundled model for search; None where none is bundled."""
    return MODEL if MODEL in bundled_models() else None
