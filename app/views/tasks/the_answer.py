"""The answer to a question about a passage: its start and end probabilities, the best spans, no answer, all spans, and
what each token contributes."""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import pandas as pd
import streamlit as st

from app.shared import contributions
from app.shared.model import models
from app.shared.page import confidence, layout, progress
from app.shared.page.exports import Cell, Name, exports
from app.shared.text import fit
from bertlab import BertForQuestionAnswering, Tokenizer
from bertlab.draw.charts import spans as span_charts
from bertlab.draw.charts.attribution import attribution_bars
from bertlab.draw.html.marked import attribution_strip, shaded_passage
from bertlab.draw.percent import percent, signed
from bertlab.evaluation.calibration import Bin
from bertlab.explain.attribution import Attribution, Progress, attribute_span
from bertlab.explain.spans import Answer, answer, answer_from, count_windows, read_passage, window_batch
from bertlab.tasks.span_decoding import ALWAYS_ANSWER

SHADES = (
    "Blue from the left: the answer may start with this word. Orange from the right: it may end with it. The answer is "
    "underlined. Point at a word to see its probabilities."
)
UNIT = "nats of ln p(start) + ln p(end) of the answer"
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


def show(reading: Reading) -> None:
    found = reading.found
    said, measured = verdict(reading.loaded, found)
    confidence.show("Answer", said, confidence.ANSWER, measured, reading.loaded.name, f"answer{reading.key}")
    with st.container(border=True):
        st.html(shaded_passage(found))
    st.caption(SHADES)
    if len(found.windows) > 1:
        st.markdown(
            "The passage is longer than the model's input, so it was read in "
            f"**{len(found.windows)} overlapping windows**. The one with the answer is shaded."
        )
    layout.show_shares(pd.DataFrame(said, columns=["answer", "probability"]), "probability")
    st.markdown(refusal(found))
    cell, made = reading.cell()
    code = cell.html(cell.call(shaded_passage, made))
    exports(f"answer{reading.key}", span_charts.best_table(found), code, span_charts.passage_chart(found))


def verdict(loaded: models.Loaded, found: Answer) -> tuple[confidence.Ranked, Bin | None]:
    """Return the answers, and how often the model was right when it was as sure of the first."""
    return ranked(found), fit.when_as_sure(loaded, found.best.probability, found.passage)


def ranked(found: Answer) -> confidence.Ranked:
    """Return the answer, then the other spans by probability, without those that differ in punctuation alone, and
    without "no answer" where it is never given."""
    spans = [span for span in found.spans if span.text or found.threshold < ALWAYS_ANSWER]
    best, *others = [(span.text or "no answer", span.probability) for span in spans]
    distinct: dict[str, tuple[str, float]] = {}
    for text, probability in (best, *sorted(others, key=lambda other: -other[1])):
        distinct.setdefault("".join(filter(str.isalnum, text)).lower() or text, (text, probability))
    return [*distinct.values()]


def refusal(found: Answer) -> str:
    """Say how the model decides between the best span and no answer."""
    if found.threshold >= ALWAYS_ANSWER:
        return "This model was trained on questions that all have an answer: it never predicts “no answer”."
    score, threshold = (signed(x, "+.1f") for x in (found.no_answer_score, found.threshold))
    return (
        f"“No answer” has a probability of {percent(found.no_answer_probability)}. The model gives it if its score (at "
        f"[CLS]) minus that of the best span is above {threshold}; here the difference is **{score}**."
    )


def show_starts_and_ends(reading: Reading) -> None:
    found, tokens = reading.found, drawn_tokens(reading.found)
    st.markdown(
        "Each cell is an answer: its row is the token that it starts with, its column the one that it ends with. The "
        "best span is framed. Grey cells cannot be an answer: the end comes before the start, the answer is longer "
        f"than {found.max_answer_tokens} tokens, or it would cut a word."
    )
    if len(found.windows) > 1:
        st.caption(f"This is window {found.window + 1} of {len(found.windows)}, which contains the best span.")
    if len(tokens) < found.passage_slice[1] - found.passage_slice[0]:
        st.caption(f"Only the {len(tokens)} tokens around the best span are drawn. The table has all.")
    square = span_charts.span_heatmap(found, tokens)
    alt = f"Probability of every start and end; the best is “{reading.text}” with {percent(found.best.probability)}"
    layout.show_chart(square, alt)
    table = span_charts.span_table(found, range(*found.passage_slice)).sort_values("probability", ascending=False)
    cell, made = reading.cell()
    exports(f"spans{reading.key}", table, cell.picture(span_charts.span_heatmap, made, tokens), square)


def drawn_tokens(found: Answer) -> range:
    """Return the passage tokens to draw: all of the window, or those around its best span."""
    start, stop = found.passage_slice
    if stop - start <= DRAWN:
        return range(start, stop)
    middle = int(found.grid[1:].max(1).values.argmax()) + 1  # (S-1, S) -> the likeliest start except [CLS]
    first = max(start, min(middle - DRAWN // 2, stop - DRAWN))
    return range(first, first + DRAWN)


def attribute(
    model: BertForQuestionAnswering, tokenizer: Tokenizer, question: str, passage: str, *span: int, **watch: Progress
) -> Attribution:
    """Return what each token contributes to the answer; `span`: the window, and its first and last token there."""
    window, start, end = span
    batch = window_batch(model, tokenizer, question, passage, window)
    return attribute_span(model, tokenizer, batch, start, end, **watch)


def show_contributions(reading: Reading) -> None:
    asked = reading.question, reading.passage, *reading.span
    both = contributions.with_control(attribute, reading.loaded, *asked)
    st.html(attribution_strip(both[0].tokens, both[0].values.tolist()))
    cell, (*where, start, end) = Cell(), asked
    batch = cell.made("batch", window_batch, reading.loaded, *where)
    code = cell.picture(attribution_bars, *cell.both(attribute_span, reading.loaded, batch, start, end))
    contributions.show(f"why{reading.key}", both, reading.text, UNIT, code)
