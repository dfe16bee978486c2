"""Starts and ends: every start against every end, and the two distributions the head was trained for."""

from collections.abc import Sequence

import streamlit as st

from app.pages.spans import cells
from app.pages.spans.reading import Reading, drawn_tokens
from app.shared import token_rows
from app.shared.exports import exports
from app.shared.two_models import side_by_side
from bertlab.draw.charts import spans as span_charts


def show(asks: Sequence[Reading]) -> None:
    st.markdown(
        "A row is the token an answer starts with, a column the one it ends with: a cell is one possible answer. Grey "
        "cells cannot be one: below the diagonal the end comes before the start, far to the right the answer is longer "
        f"than {asks[0].found.max_answer_tokens} tokens. The best span is framed."
    )
    side_by_side(asks, show_square)


def show_square(ask: Reading) -> None:
    found = ask.found
    tokens = drawn_tokens(found)
    if len(found.windows) > 1:
        st.caption(f"This is window {found.window + 1} of {len(found.windows)}, which holds the best span.")
    if len(tokens) < found.passage_slice[1] - found.passage_slice[0]:
        st.caption(f"There are many tokens: {len(tokens)} around the best span are drawn; the table has all.")
    square = span_charts.span_heatmap(found, tokens)
    alt = f"Probability of every start and end; the best is “{ask.said}” with {found.best.probability:.0%}"
    st.altair_chart(square, width="stretch", alt=alt)
    st.markdown("**Where it may start, where it may end**")
    st.markdown("The head gives each token two scores of its own; a softmax over the whole input makes these bars.")
    bars = span_charts.boundary_bars(found, tokens)
    token_rows.show(bars, len(tokens), "Probability of the answer's start and end at each token")
    table = span_charts.span_table(found, range(*found.passage_slice)).sort_values("probability", ascending=False)
    picture = (square & bars).resolve_scale(color="independent")
    exports(f"spans{ask.key}", table, cells.grid(ask.loaded, ask.question, ask.passage, tokens), picture)
