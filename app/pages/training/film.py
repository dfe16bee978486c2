"""What the films of a training share: the snapshots that are shown, and the text that is shown to them."""

from collections.abc import Sequence

import streamlit as st

from app.shared import models, state
from bertlab.explain.runs import Moment, TrainingRun
from bertlab.explain.snapshots import picked

MOST_MOMENTS = 12
EXAMPLES = {
    "who was too tired?": state.DEFAULT_TEXT,
    "what was too wide?": state.DEFAULT_TEXT.replace("tired", "wide"),
    "penguins": "penguins are flightless [MASK].",
    "too big": "the trophy didn't fit in the suitcase because the [MASK] was too big.",
}


def moments_of(run: TrainingRun) -> tuple[Moment, ...]:
    """The snapshots, or a dozen of many, evenly picked."""
    chosen = picked(run.moments, MOST_MOMENTS)
    if len(chosen) < len(run.moments):
        st.caption(f"{len(chosen)} of {len(run.moments)} snapshots are shown, from the first to the last.")
    return chosen


def last_model(task: str, run: TrainingRun) -> models.Loaded:
    """The last snapshot, or the result of the run."""
    return models.open_model(task, run.moments[-1].source)


def settled(said: Sequence) -> int:
    """The place from which on all are as the last one."""
    return next(i for i in range(len(said)) if set(said[i:]) == {said[-1]})


def text_fields() -> tuple[str, str | None]:
    state.example_pills("Try", {name: {"film_text": text, "film_pair": ""} for name, text in EXAMPLES.items()})
    return state.text_fields("film_")
