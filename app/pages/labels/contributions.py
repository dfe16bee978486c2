"""Which tokens pushed a label, with the same question to random weights beside it."""

from collections.abc import Callable

import altair as alt
import streamlit as st

from app.shared import models, progress, reasons, state, token_rows
from bertlab.draw.charts import base as charts
from bertlab.draw.html.marked import attribution_strip
from bertlab.explain.attribution import Attribution


def with_control(function: Callable, loaded: models.Loaded, *arguments) -> tuple[Attribution, Attribution]:
    """What `function` finds in the model, and in the same architecture with random weights."""
    return tuple(progress.watched(function, model, *arguments) for model in (loaded, models.control_of(loaded)))


def show_pushes(pushed: Attribution, control: Attribution, title: str, label: str) -> alt.Chart:
    """Returns the picture of both."""
    trained, random = st.columns(2, gap="large")
    with trained:
        st.markdown(f"**{state.plain(title)}**")
        st.markdown(f"{way(pushed)} {reasons.in_a_sentence(label, pushed)}")
        st.html(attribution_strip(pushed.tokens, pushed.values.tolist()))
        st.caption(balance(pushed))
    with random:
        st.markdown("**The same question to random weights**")
        st.markdown(way(control))
        st.html(attribution_strip(control.tokens, control.values.tolist()))
        st.caption(balance(control))
    st.markdown("**Both on one scale**")
    bars = charts.attribution_bars(pushed, control)
    token_rows.show(bars, len(pushed.tokens), f"{title}: the push of each token, and with random weights")
    return bars


def way(pushed: Attribution) -> str:
    """How much of the score is due to the words at all."""
    start, added = (state.signed(x) for x in (pushed.baseline, pushed.score - pushed.baseline))
    return f"With no words at all its score is **{start}**; these words add **{added}**."


def balance(pushed: Attribution) -> str:
    """The check that integrated gradients carry with them, in numbers."""
    start, score, total = (state.signed(x, ".3f") for x in (pushed.baseline, pushed.score, pushed.values.sum()))
    return (
        f"Check: the pushes sum to {total}; the score goes from {start} without the tokens to {score} with them. "
        f"Gap: {abs(pushed.gap):.4f}."
    )
