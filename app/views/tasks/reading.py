"""A question about a passage, and the windows in which a model reads them."""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

from app.shared.model import models
from app.shared.page import layout, progress
from app.shared.page.cell import Cell, Name
from bertlab import BertForQuestionAnswering
from bertlab.explain.spans import Answer, answer, answer_from, count_windows, read_passage

DRAWN = 48  # tokens that fit into a readable square


@dataclass(frozen=True)
class Reading:
    """One model, a question, and a passage of any length; `key` tells the models apart."""

    loaded: models.Loaded
    question: str
    passage: str
    key: str = ""

    @cached_property
    def found(self) -> Answer:
        """The answer, with the arrays of the window that has the best span. All windows are read: only then there is
        an answer. Raises Stopped if the visitor presses Stop."""
        asked = self.loaded, self.question, self.passage
        total = models.compute(count_windows, *asked)
        windows = progress.rows(read_passage, *asked, total=total)
        if len(windows) < total:
            raise layout.Stopped
        model = cast(BertForQuestionAnswering, self.loaded.model)
        return answer_from(model, self.loaded.tokenizer, self.passage, windows)

    def cell(self) -> tuple[Cell, Name]:
        """Return a cell that answers the question, and its name for the answer."""
        cell = Cell()
        return cell, cell.made("found", answer, self.loaded, self.question, self.passage)

    @property
    def span(self) -> tuple[int, int, int]:
        """Window, first and last token of the answer; "no answer" is [CLS] of the window with the best span."""
        return self.found.window, self.found.best.start_token, self.found.best.end_token

    @property
    def text(self) -> str:
        """The text of the answer."""
        return self.found.best.text or "no answer"


def drawn_tokens(found: Answer) -> range:
    """Return the passage tokens to draw: all of the window, or those around its best span."""
    start, stop = found.passage_slice
    if stop - start <= DRAWN:
        return range(start, stop)
    middle = int(found.grid[1:].max(1).values.argmax()) + 1  # (S-1, S) -> the likeliest start except [CLS]
    first = max(start, min(middle - DRAWN // 2, stop - DRAWN))
    return range(first, first + DRAWN)
