"""Why this answer: how much each token of question and passage pushed it."""

from collections.abc import Sequence

import streamlit as st

from app.pages.spans import cells
from app.pages.spans.reading import Reading
from app.shared import progress, reasons, state, token_rows
from app.shared.exports import exports
from app.shared.two_models import side_by_side
from bertlab.draw.charts import base as charts
from bertlab.draw.html.marked import attribution_strip
from bertlab.explain.attribution import Attribution, attribute_span
from bertlab.explain.spans import window_batch


def pushes(model, tokenizer, question, passage, window, start, end, progress=None) -> Attribution:
    """How much each token pushed an answer, by its place in a window."""
    batch = window_batch(model, tokenizer, question, passage, window)
    return attribute_span(model, tokenizer, batch, start, end, progress)


def show(asks: Sequence[Reading]) -> None:
    st.markdown(
        "*Integrated gradients* share out the answer among the tokens that the model read, question and passage: "
        "**blue** tokens speak for it, **orange** ones against it."
    )
    side_by_side(asks, show_pushes)


def show_pushes(ask: Reading) -> None:
    pushed, control = (
        progress.watched(pushes, one.loaded, ask.question, ask.passage, *ask.place) for one in (ask, ask.control)
    )
    st.markdown(in_a_sentence(ask.said, pushed))
    st.html(attribution_strip(pushed.tokens, pushed.values.tolist()))
    bars = charts.attribution_bars(pushed, control)
    token_rows.show(bars, len(pushed.tokens), f"How much each token pushed “{ask.said}”, and with random weights")
    st.caption(
        "Unit: nats of ln p(start) + ln p(end) of the answer, followed from a text of nothing but [PAD] to yours. "
        f"Check: the pushes add up to {pushed.values.sum():.2f}, the score rose by "
        f"{pushed.score - pushed.baseline:.2f}. Grey: the same question to random weights."
    )
    code = cells.why(ask.loaded, ask.question, ask.passage)
    exports(f"why{ask.key}", charts.attribution_table(pushed, control), code, bars)


def in_a_sentence(said: str, pushed: Attribution) -> str:
    """What of the question and what of the passage speaks most for what is said."""
    end = pushed.tokens.index("[SEP]")
    question, passage = (
        " and ".join(reasons.strongest(reasons.words(pushed, places))) or "nothing"
        for places in (range(1, end), range(end + 1, len(pushed.tokens) - 1))
    )
    return f"Most for “**{state.plain(said)}**” speak, of the question, {question}; of the passage, {passage}."
