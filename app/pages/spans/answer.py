"""The answer: the passage with what may be its start and end, the best spans, no answer, and the windows."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.pages.spans import cells
from app.pages.spans.reading import SHADES, Reading, percent
from app.shared import models, state
from app.shared.exports import exports
from app.shared.two_models import side_by_side
from bertlab.draw.charts import spans as span_charts
from bertlab.draw.html.marked import shaded_passage
from bertlab.explain.spans import Answer
from bertlab.tasks.answers import ALWAYS_ANSWER


def show(asks: Sequence[Reading]) -> None:
    if len(asks) == 1:
        st.caption(f"Answered by {models.readable(asks[0].loaded.name)}.")
    side_by_side(asks, show_answer)


def show_answer(ask: Reading) -> None:
    found = ask.found
    text, share, nothing = st.columns([4, 3, 3])
    text.metric("Answer", state.plain(found.best.text) or "no answer")
    share.metric("Its probability", percent(found.best.probability))
    nothing.metric("Probability of no answer", percent(found.no_answer_probability))
    shown = ask.window(choose_window(ask))
    with st.container(border=True):
        st.html(shaded_passage(shown))
    st.caption(SHADES)
    if len(found.windows) > 1:
        show_windows(shown)
    st.markdown("**The best spans**")
    share = st.column_config.ProgressColumn("probability", format="percent", min_value=0, max_value=1)
    table = span_charts.best_table(found)
    kept = table if len(found.windows) > 1 else table.drop(columns="window")
    score = st.column_config.NumberColumn("score", format="%.2f")
    st.dataframe(kept, hide_index=True, column_config={"probability": share, "score": score})
    line = show_threshold(found)
    tables = [table.assign(kind="span"), span_charts.threshold_table(found).rename(columns={"what": "answer"})]
    code = cells.answer(ask.loaded, ask.question, ask.passage)
    picture = line or span_charts.boundary_bars(shown, range(*shown.passage_slice))
    exports(f"answer{ask.key}", pd.concat(tables), code, picture)


def choose_window(ask: Reading) -> int:
    """The number of the window that is shown, from 0: the one with the best span, until another is chosen."""
    found = ask.found
    if len(found.windows) == 1:
        return 0
    key = f"window{ask.key} {hash((found.passage, len(found.windows), found.window))}"
    if key not in st.session_state:
        linked = state.link_value(f"window{ask.key}") or ""
        known = linked.isdecimal() and 0 < int(linked) <= len(found.windows)
        st.session_state[key] = int(linked) if known else found.window + 1
    chosen = st.selectbox("Window that is shown", range(1, len(found.windows) + 1), key=key, width=200)
    state.share(f"window{ask.key}", "" if chosen == found.window + 1 else str(chosen))
    return chosen - 1


def show_windows(shown: Answer) -> None:
    st.markdown(
        f"The passage is longer than the model reads at once, so it was read in **{len(shown.windows)} overlapping "
        "windows**. Each has a best span (orange); the best of them all is the answer. "
        f"Window {shown.window + 1}, blue, is shown."
    )
    bars = span_charts.window_bars(shown)
    st.altair_chart(
        bars, width="stretch", alt=f"{len(shown.windows)} windows over the passage and the best span of each"
    )


def show_threshold(found: Answer):
    """The decision between the best span and no answer, in a sentence and a line."""
    st.markdown("**Answer, or none?**")
    if found.threshold >= ALWAYS_ANSWER:
        st.caption("This model learned from questions that all have an answer: it never says that there is none.")
        return None
    side, verdict = (
        ("more", "nothing is answered") if not found.best.text else ("not more", "the best span is answered")
    )
    score, threshold = (state.signed(x, "+.1f") for x in (found.no_answer_score, found.threshold))
    st.markdown(
        f"The score of “no answer” (at [CLS]) less that of the best span is **{score}**, {side} than the model's "
        f"threshold of {threshold}: **{verdict}**."
    )
    line = span_charts.threshold_line(found)
    st.altair_chart(line, width="stretch", alt=f"No-answer score {score} against the threshold {threshold}")
    return line
