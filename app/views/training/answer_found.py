"""An answer is found: one question, answered by each snapshot of a fine-tuning."""

import streamlit as st

from app.shared.page import layout
from app.shared.page.cell import Cell
from app.shared.page.exports import exports
from app.shared.page.markdown import plain
from app.views.tasks import reading
from app.views.training.film import film_in, frames_of, model_at, moments_of, settled
from bertlab.draw.charts.film import answer_lines, answer_table
from bertlab.draw.html.marked import shaded_passage
from bertlab.draw.percent import percent
from bertlab.explain.runs import TrainingRun
from bertlab.explain.snapshots import AnswerFrame, answer_film


def show(run: TrainingRun, source: str, step: int) -> None:
    question, passage = reading.fields(run.name, "film_")
    moments, loaded = moments_of(run), model_at("answer", run)
    frames = frames_of(answer_film, loaded, moments, question, passage)
    if not frames:
        return
    last = frames[-1].answer
    layout.notices(loaded.name, last.dropped, last.unknown, len(last.tokens))
    st.markdown(story(frames))
    for frame in frames:
        best, mark = frame.answer.best, " (chosen above)" if frame.step == step else ""
        said = quoted(best.text) if best.text else "no answer"
        st.markdown(f"**Step {frame.step:,}**{mark}: {said}, {percent(best.probability)}")
        with st.container(border=True):
            st.html(shaded_passage(frame.answer))
    st.caption(reading.SHADES)
    table = answer_table(frames)
    cell = Cell()
    film = film_in(cell, source, answer_film, question, passage)
    code = cell.picture(answer_lines, cell.call(answer_table, film))
    chart = answer_lines(table, step)
    layout.show_chart(chart, "Probability of the best span and of no answer, by training step")
    st.caption(
        "The best span may be a different one at each step. Snapshots are evenly spaced, however many steps lie "
        "between them."
    )
    exports("answer-by-step", table, code, chart)


def story(frames: list[AnswerFrame]) -> str:
    """Say what the model answers at the end, since when, and what it answered before."""
    answers = [frame.answer.best.text for frame in frames]
    since = settled(answers)
    text = f"After {frames[-1].step:,} steps the model answers {quoted(answers[-1])}. "
    if since == 0:
        return text + "It did so in every snapshot."
    before = f"t step {frames[since - 1].step:,} it still answered {quoted(answers[since - 1])}."
    if frames[since] is frames[-1]:
        return f"{text}A{before}"
    return f"{text}It has done so since step {frames[since].step:,}; a{before}"


def quoted(text: str) -> str:
    return f"“{plain(text)}”" if text else "that there is no answer"
