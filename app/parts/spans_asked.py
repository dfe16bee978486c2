"""A question put to a model, and how two models stand beside each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import models
import progress
import state
import streamlit as st

from bertlab.explain.knockout import Head, windows_without
from bertlab.explain.spans import Answer, answer_from, count_windows, read_passage
from bertlab.tasks.answers import Window

DRAWN = 48  # tokens that a readable square holds


@dataclass(frozen=True)
class Asked:
    """One model, a question and a passage of any length."""

    loaded: models.Loaded
    question: str
    passage: str

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
    def control(self) -> "Asked":
        """The same of random weights."""
        return Asked(models.control_of(self.loaded), self.question, self.passage)

    @property
    def place(self) -> tuple[int, int, int]:
        """Window, first and last token of what is said; "no answer" is [CLS] of the window with the best span."""
        found = self.found
        return found.window, found.best.start_token, found.best.end_token

    @property
    def said(self) -> str:
        return self.found.best.text or "no answer"


def side_by_side(asks: Sequence[Asked], draw: Callable[[Asked, str], None]) -> None:
    """`draw(ask, suffix)` for one model over the whole width, or for two in columns with their names above.

    The suffix keeps the names of the second model's files and widgets apart from those of the first.
    """
    if len(asks) == 1:
        draw(asks[0], "")
        return
    for column, ask, suffix in zip(st.columns(2, gap="large"), asks, ("", "-beside"), strict=True):
        with column, state.box():
            st.markdown(f"**{models.readable(ask.loaded.name)}**")
            draw(ask, suffix)


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
