"""Which head the answer depends on: switch heads off and ask again."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from app.shared import knockout_heads
from app.shared.model import models
from app.shared.page.markdown import plain, signed
from app.views.tasks import the_answer
from app.views.tasks.reading import Reading
from bertlab.draw.html.marked import shaded_passage
from bertlab.draw.percent import percent
from bertlab.explain.attention.knockout import Head, answer_change, answer_knockouts
from bertlab.explain.spans import Answer


def show(readings: Sequence[Reading]) -> None:
    st.markdown(
        "Switch a head off, which sets its output to zero, and the model reads the passage without it. Each map is "
        "about the answer of its model, that of random weights about the first one. Here p is p(start) × p(end), each "
        "among all tokens; the probabilities below are shares among all possible answers, as in *The answer*."
    )
    reading = readings[0]
    asked = {one.loaded.name: arguments(one, one.span) for one in readings if not one.loaded.random}
    asked[models.RANDOM] = arguments(reading.control, reading.span)  # of the first model's answer, not of its own
    without = partial(show_without, reading)
    knockout_heads.show("span_off", "answer-knockout", answer_knockouts, asked, reading.text, without)


def arguments(reading: Reading, span: tuple[int, int, int]) -> tuple:
    return reading.loaded, reading.question, reading.passage, *span


def show_without(reading: Reading, off: tuple[Head, ...]) -> None:
    st.subheader(f"The answer without {'these heads' if len(off) > 1 else 'this head'}", anchor=False)
    if not off:
        st.markdown(knockout_heads.ALL_ON)
        return
    found = reading.without(off)
    change = models.compute(answer_change, reading.loaded, reading.question, reading.passage, *reading.span, off)
    for one, _ in knockout_heads.before_and_after(reading.found, found, off):
        label = "Best guess" if the_answer.is_guess(reading.loaded, one) else "Answer"
        st.metric(label, plain(one.best.text) or "no answer", border=True)
        st.caption(f"Its probability: {percent(one.best.probability)}")
        with st.container(border=True):
            st.html(shaded_passage(one))
    st.markdown(outcome(reading, found, change))


def outcome(reading: Reading, found: Answer, change: float) -> str:
    """Say what switching the heads off changed."""
    now = plain(found.best.text or "no answer")
    kept = found.best.text == reading.found.best.text
    first = f"The answer stays “{now}”" if kept else f"The answer is now “**{now}**”"
    return f"{first}; ln p of “{plain(reading.text)}” changes by **{signed(change)}** nats."
