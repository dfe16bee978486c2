"""One question through a fine-tuning: how the answer comes to be marked."""

import streamlit as st

from app.pages.spans.reading import SHADES, percent
from app.pages.spans.text import text_fields
from app.pages.training import cells
from app.pages.training.film import MOST_MOMENTS, last_model, moments_of, settled
from app.shared import progress
from app.shared.exports import exports
from app.shared.state import notices, plain
from bertlab.draw.charts.film import answer_lines, answer_table
from bertlab.draw.html.marked import shaded_passage
from bertlab.explain.runs import Moment, TrainingRun
from bertlab.explain.snapshots import AnswerFrame, answer_film


def film(model, tokenizer, moments: tuple[Moment, ...], question: str, passage: str):
    """For progress.rows; the models are those of the moments."""
    return answer_film(moments, question, passage)


def show(run: TrainingRun, source: str, step: int) -> None:
    """`source` is what a cell opens; `step` is marked."""
    question, passage = text_fields("film_")
    moments, loaded = moments_of(run), last_model("answer", run)
    frames = progress.rows(film, loaded, moments, question, passage, total=len(moments))
    if not frames:
        return
    last = frames[-1].answer
    notices(last.dropped, last.unknown, len(last.tokens))
    st.markdown(told(frames))
    for frame in frames:
        best = frame.answer.best
        said = quoted(best.text) if best.text else "no answer"
        chosen = " (chosen above)" if frame.step == step else ""
        st.markdown(f"**Step {frame.step:,}**{chosen}: {said}, {percent(best.probability)}")
        with st.container(border=True):
            st.html(shaded_passage(frame.answer))
    st.caption(SHADES)
    table = answer_table(frames)
    chart = answer_lines(table, step)
    st.altair_chart(chart, width="stretch", alt="Probability of the best span and of no answer, by training step")
    st.caption("The best span may be another at each step. Snapshots stand evenly, whatever steps lie between them.")
    exports("answer-by-step", table, cells.answers(source, MOST_MOMENTS, question, passage), chart)


def told(frames: list[AnswerFrame]) -> str:
    """What is answered in the end, since when, and what was answered before."""
    said = [frame.answer.best.text for frame in frames]
    since = settled(said)
    story = f"After {frames[-1].step:,} steps the model says {quoted(said[-1])}. "
    if since == 0:
        return story + "It said so in every snapshot."
    before = f"at step {frames[since - 1].step:,} it still said {quoted(said[since - 1])}."
    if frames[since] is frames[-1]:
        return story + before[0].upper() + before[1:]
    return f"{story}It has said so since step {frames[since].step:,}; {before}"


def quoted(text: str) -> str:
    return f"“{plain(text)}”" if text else "that there is no answer"
