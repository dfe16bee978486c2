"""A question put to a model about a passage, and the windows in which it reads that."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from app.shared import models, progress, state
from bertlab.explain.attention.knockout import Head, windows_without
from bertlab.explain.spans import Answer, answer_from, count_windows, read_passage
from bertlab.tasks.answers import Window

DRAWN = 48  # tokens that a readable square holds
SHADES = (  # how to read a shaded passage
    "Blue from the left: the answer may start with this word. Orange from the right: it may end with it. An answer is "
    "underlined. Rest the pointer on a word for its numbers."
)


@dataclass(frozen=True)
class Reading:
    """One model, a question and a passage of any length; `key` tells the models apart."""

    loaded: models.Loaded
    question: str
    passage: str
    key: str = ""

    @cached_property
    def windows(self) -> list[Window]:
        """All windows of the passage, each read once."""
        return self._read(read_passage)

    @cached_property
    def found(self) -> Answer:
        """The answer, in the window with the best span."""
        return self._answer(self.windows)

    def window(self, number: int) -> Answer:
        """The answer, in the window of that number."""
        return self._answer(self.windows, number)

    def without(self, off: tuple[Head, ...]) -> Answer:
        """The answer with these heads switched off."""
        return self._answer(self._read(windows_without, off)) if off else self.found

    def _read(self, function: Callable, *arguments) -> list[Window]:
        """No answer is given before the last window is read: after a press of Stop, state.Stopped is raised."""
        total = models.compute(count_windows, self.loaded, self.question, self.passage)
        found = progress.rows(function, self.loaded, self.question, self.passage, *arguments, total=total)
        if len(found) < total:
            raise state.Stopped
        return found

    def _answer(self, windows: list[Window], number: int | None = None) -> Answer:
        return answer_from(self.loaded.model, self.loaded.tokenizer, self.passage, windows, window=number)

    @property
    def control(self) -> "Reading":
        """The same of random weights."""
        return Reading(models.control_of(self.loaded), self.question, self.passage)

    @property
    def place(self) -> tuple[int, int, int]:
        """Window, first and last token of what is said; "no answer" is [CLS] of the window with the best span."""
        found = self.found
        return found.window, found.best.start_token, found.best.end_token

    @property
    def said(self) -> str:
        return self.found.best.text or "no answer"


def drawn_tokens(found: Answer) -> range:
    """The passage tokens to draw: all of the window, or those around its best span."""
    start, stop = found.passage_slice
    if stop - start <= DRAWN:
        return range(start, stop)
    middle = int(found.grid[1:].max(1).values.argmax()) + 1  # (S-1, S) -> the likeliest start but [CLS]
    first = max(start, min(middle - DRAWN // 2, stop - DRAWN))
    return range(first, first + DRAWN)


def percent(probability: float) -> str:
    """A probability that is not quite 0 or 1 does not look as if it were."""
    if 0.999 < probability < 1:
        return "> 99.9%"
    return "< 0.1%" if 0 < probability < 0.001 else f"{probability:.1%}"
