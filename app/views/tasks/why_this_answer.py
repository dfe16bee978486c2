"""Why this answer: what each token of question and passage contributes to it."""

import streamlit as st

from app.shared import contributions
from app.shared.page.cell import Cell
from app.views.tasks.reading import Reading
from bertlab import BertForQuestionAnswering, Tokenizer
from bertlab.draw.charts.attribution import attribution_bars
from bertlab.draw.html.marked import attribution_strip
from bertlab.explain.attribution import Attribution, Progress, attribute_span
from bertlab.explain.spans import window_batch

UNIT = "nats of ln p(start) + ln p(end) of the answer"


def attribute(
    model: BertForQuestionAnswering, tokenizer: Tokenizer, question: str, passage: str, *span: int, **watch: Progress
) -> Attribution:
    """Return what each token contributes to the answer; `span`: the window, and its first and last token there."""
    window, start, end = span
    batch = window_batch(model, tokenizer, question, passage, window)
    return attribute_span(model, tokenizer, batch, start, end, **watch)


def show(reading: Reading) -> None:
    asked = reading.question, reading.passage, *reading.span
    both = contributions.with_control(attribute, reading.loaded, *asked)
    st.html(attribution_strip(both[0].tokens, both[0].values.tolist()))
    cell, (*where, start, end) = Cell(), asked
    batch = cell.made("batch", window_batch, reading.loaded, *where)
    code = cell.picture(attribution_bars, *cell.both(attribute_span, reading.loaded, batch, start, end))
    contributions.show(f"why{reading.key}", both, reading.text, UNIT, code)
