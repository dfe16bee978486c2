"""Why this answer: what each token of question and passage contributes to it."""

from collections.abc import Sequence

import streamlit as st

from app.shared import contributions
from app.shared.page import layout
from app.shared.page.cell import Cell
from app.shared.page.markdown import plain
from app.views.tasks.reading import Reading
from bertlab import BertForQuestionAnswering, Tokenizer
from bertlab.draw.charts.attribution import attribution_bars
from bertlab.draw.html.marked import attribution_strip
from bertlab.explain.attribution import Attribution, Progress, attribute_span
from bertlab.explain.spans import window_batch


def attribute(
    model: BertForQuestionAnswering, tokenizer: Tokenizer, question: str, passage: str, *span: int, **watch: Progress
) -> Attribution:
    """Return what each token contributes to the answer; `span`: the window, and its first and last token there."""
    window, start, end = span
    batch = window_batch(model, tokenizer, question, passage, window)
    return attribute_span(model, tokenizer, batch, start, end, **watch)


def show(readings: Sequence[Reading]) -> None:
    st.markdown(
        "*Integrated gradients* divide the answer's log-probability among the tokens that the model read, of question "
        "and passage: **blue** tokens contribute to it, **orange** ones count against it."
    )
    layout.side_by_side(readings, show_contributions)


def show_contributions(reading: Reading) -> None:
    asked = reading.question, reading.passage, *reading.span
    both = contributions.with_control(attribute, reading.loaded, *asked)
    st.html(attribution_strip(both[0].tokens, both[0].values.tolist()))
    cell, (*where, start, end) = Cell(), asked
    batch = cell.made("batch", window_batch, reading.loaded, *where)
    code = cell.picture(attribution_bars, *cell.both(attribute_span, reading.loaded, batch, start, end))
    unit, sentence = "nats of ln p(start) + ln p(end) of the answer", in_a_sentence(reading.text, both[0])
    contributions.show(f"why{reading.key}", both, reading.text, unit, code, sentence)


def in_a_sentence(answer: str, found: Attribution) -> str:
    """Say which words of the question and which of the passage contribute most to the answer."""
    end = found.tokens.index("[SEP]")
    question, passage = (
        " and ".join(contributions.strongest(contributions.words(found, positions))) or "nothing noticeable"
        for positions in (range(1, end), range(end + 1, len(found.tokens) - 1))
    )
    return f"What contributes most to “**{plain(answer)}**”: of the question {question}; of the passage {passage}."
