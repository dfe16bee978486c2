"""The answer: the passage with its start and end probabilities, the best spans, no answer, windows, and all spans."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.shared.model import models
from app.shared.page import confidence, layout, state
from app.shared.page.exports import exports
from app.shared.page.markdown import signed
from app.shared.text import fit
from app.views.tasks.reading import SHADES, Reading, drawn_tokens
from bertlab.draw.charts import spans as span_charts
from bertlab.draw.html.marked import shaded_passage
from bertlab.draw.percent import percent
from bertlab.explain.spans import Answer
from bertlab.tasks.span_decoding import ALWAYS_ANSWER


def show(readings: Sequence[Reading]) -> None:
    layout.side_by_side(readings, show_answer)


def show_answer(reading: Reading) -> None:
    found = reading.found
    may_refuse = found.threshold < ALWAYS_ANSWER
    measured = fit.when_as_sure(reading.loaded, found.best.probability, found.passage)
    confidence.show("Answer", ranked(found), confidence.ANSWER, measured, reading.loaded.name, f"answer{reading.key}")
    if not may_refuse:
        st.caption("This model was trained on questions that all have an answer: it never predicts “no answer”.")
    shown = reading.window(choose_window(reading))
    with st.container(border=True):
        st.html(shaded_passage(shown))
    st.caption(SHADES)
    if len(found.windows) > 1:
        show_windows(shown)
    st.markdown("**The best spans**")
    best = span_charts.best_table(found)
    score = st.column_config.NumberColumn("score", format="%.2f", help="Start logit + end logit.")
    kept = best if len(found.windows) > 1 else best.drop(columns="window")
    layout.show_shares(kept, "probability", {"score": score})
    if may_refuse:
        st.markdown(threshold(found))
    tables = [best.assign(kind="span"), span_charts.threshold_table(found).rename(columns={"what": "answer"})]
    cell, made = reading.cell()
    code = cell.html(cell.call(shaded_passage, made))
    exports(f"answer{reading.key}", pd.concat(tables), code, span_charts.passage_chart(shown))


def ranked(found: Answer) -> confidence.Ranked:
    """Return the answer, then the other spans by probability: "no answer" has no chance where it is never given."""
    best, *others = [(span.text or "no answer", span.probability) for span in found.spans]
    return [best, *sorted(others, key=lambda other: -other[1])]


def is_guess(loaded: models.Loaded, found: Answer) -> bool:
    measured = fit.when_as_sure(loaded, found.best.probability, found.passage)
    return bool(confidence.doubt(ranked(found), confidence.ANSWER, measured))


def choose_window(reading: Reading) -> int:
    """Return the number of the window to show, from 0: the one with the best span until another is chosen."""
    found = reading.found
    if len(found.windows) == 1:
        return 0
    key = f"window{reading.key} {hash((found.passage, len(found.windows), found.window))}"
    name, numbers, best = f"window{reading.key}", range(1, len(found.windows) + 1), found.window + 1
    state.open_with(key, name, lambda linked: number if (number := state.number_in(linked)) in numbers else best)
    chosen = st.selectbox("Window to show", numbers, key=key, width=200)
    state.share(name, "" if chosen == best else str(chosen))
    return chosen - 1


def show_windows(shown: Answer) -> None:
    st.markdown(
        f"The passage is longer than the model's input, so it was read in **{len(shown.windows)} overlapping "
        "windows**. Each has a best span (orange); the best of these is the answer. "
        f"You see window {shown.window + 1} (blue)."
    )
    alt = f"{len(shown.windows)} windows over the passage and the best span of each"
    layout.show_chart(span_charts.window_bars(shown), alt)


def threshold(found: Answer) -> str:
    """Say how the model decides between the best span and no answer."""
    score, threshold = (signed(x, "+.1f") for x in (found.no_answer_score, found.threshold))
    side, verdict = ("not above", "the best span") if found.best.text else ("above", "no answer")
    return (
        f"“No answer” has a probability of {percent(found.no_answer_probability)}. Its score (at [CLS]) minus that of "
        f"the best span is **{score}**. This is {side} the model's "
        f"threshold of {threshold}, so it predicts **{verdict}**."
    )


def show_starts_and_ends(readings: Sequence[Reading]) -> None:
    st.markdown(
        "Each cell is an answer: its row is the token that it starts with, its column the one that it ends with. The "
        "best span is framed. Grey cells cannot be an answer: the end comes before the start, the answer is longer "
        f"than {readings[0].found.max_answer_tokens} tokens, or it would cut a word."
    )
    layout.side_by_side(readings, show_square)


def show_square(reading: Reading) -> None:
    found, tokens = reading.found, drawn_tokens(reading.found)
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
