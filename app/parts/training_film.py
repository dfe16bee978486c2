"""What the films of a training share: the snapshots that are shown, and the text that is shown to them."""

import models
import state
import streamlit as st

from bertlab.errors import InputError
from bertlab.explain.runs import Moment, TrainingRun

MOST_MOMENTS = 12
TEXT = "the animal didn't cross the street because the [MASK] was too tired."
EXAMPLES = {
    "who was too tired?": TEXT,
    "what was too wide?": TEXT.replace("tired", "wide"),
    "penguins": "penguins are flightless [MASK].",
    "too big": "the trophy didn't fit in the suitcase because the [MASK] was too big.",
}


def moments_of(run: TrainingRun) -> tuple[Moment, ...]:
    """The snapshots, or a dozen of many, evenly picked."""
    count = len(run.moments)
    if count <= MOST_MOMENTS:
        return tuple(run.moments)
    st.caption(f"{MOST_MOMENTS} of {count} snapshots are shown, from the first to the last.")
    return tuple(run.moments[round(i * (count - 1) / (MOST_MOMENTS - 1))] for i in range(MOST_MOMENTS))


def last_model(task: str, run: TrainingRun) -> models.Loaded:
    """The last snapshot, or the result of the run."""
    loaded = models.open_model(task, run.moments[-1].source)
    if loaded is None:
        raise InputError("this run learned another task than filling gaps: look at its heads")
    return loaded


def text_fields() -> tuple[str, str | None]:
    state.example_pills("Try", {name: {"film_text": text, "film_pair": ""} for name, text in EXAMPLES.items()})
    return state.text_fields("film_", TEXT)
