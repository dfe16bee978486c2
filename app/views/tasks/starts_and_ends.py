"""Starts and ends: every start against every end, and the two distributions the head was trained for."""

from collections.abc import Sequence

import streamlit as st

from app.shared.page import layout
from app.shared.page.cell import Name
from app.shared.page.exports import exports
from app.views.tasks.reading import Reading, drawn_tokens
from bertlab.draw.charts import spans as span_charts
from bertlab.draw.percent import percent


def show(readings: Sequence[Reading]) -> None:
    layout.side_by_side(readings, show_square)
    st.caption(
        "In the square the row is the token an answer starts with, the column the one it ends with: each cell is an "
        "answer. Grey cells cannot be one: below the diagonal the end comes before the start, far to the right the "
        f"answer is longer than {readings[0].found.max_answer_tokens} tokens, and in grey rows and columns it would "
        "cut a word. The best span is framed."
    )


def show_square(reading: Reading) -> None:
    found, tokens = reading.found, drawn_tokens(reading.found)
    if len(found.windows) > 1:
        st.caption(f"This is window {found.window + 1} of {len(found.windows)}, which contains the best span.")
    if len(tokens) < found.passage_slice[1] - found.passage_slice[0]:
        st.caption(f"Only the {len(tokens)} tokens around the best span are drawn. The table has all.")
    square = span_charts.span_heatmap(found, tokens)
    alt = f"Probability of every start and end; the best is “{reading.text}” with {percent(found.best.probability)}"
    layout.show_chart(square, alt)
    st.markdown("**Where the answer may start and end**")
    st.markdown("The head gives each token a start logit and an end logit. The bars are their softmax.")
    bars = span_charts.boundary_bars(found, tokens)
    layout.show_chart(bars, "Probability of the answer's start and end at each token")
    table = span_charts.span_table(found, range(*found.passage_slice)).sort_values("probability", ascending=False)
    picture = (square & bars).resolve_scale(color="independent")
    cell, made = reading.cell()
    parts = [cell.call(draw, made, tokens) for draw in (span_charts.span_heatmap, span_charts.boundary_bars)]
    code = cell.shows(Name(f"({' & '.join(parts)}).resolve_scale(color='independent')"))
    exports(f"spans{reading.key}", table, code, picture)
