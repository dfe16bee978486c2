"""What all films of a training share: the snapshots they show, and the fields for a text."""

from collections.abc import Callable, Sequence

import streamlit as st
from altair import TopLevelMixin

from app.shared.model import models
from app.shared.page import layout, progress, state
from app.shared.page.exports import Cell, Name
from app.shared.text import texts
from bertlab.errors import InputError
from bertlab.explain.runs import Moment, TrainingRun, read_run
from bertlab.explain.snapshots import picked

MOST_MOMENTS = 12


def moments_of(run: TrainingRun) -> tuple[Moment, ...]:
    """Return the snapshots to show: all, or a dozen evenly picked ones."""
    chosen = picked(run.moments, MOST_MOMENTS)
    if len(chosen) < len(run.moments):
        st.caption(f"You see {len(chosen)} of {len(run.moments)} snapshots, evenly picked from the first to the last.")
    return chosen


def model_at(task: str, run: TrainingRun, step: int | None = None) -> models.Loaded:
    """Open the snapshot at `step`, by default the result of the run. Raises InputError if it has no head for `task`."""
    moment = next((moment for moment in run.moments if moment.step == step), run.moments[-1])
    loaded = models.open_model(task, moment.source)
    if loaded is None:
        raise InputError(f"{run.name} has no head for this task: choose another run")
    return loaded


def film_in(cell: Cell, run: str, film: Callable, *arguments, **options) -> Name:
    """Add the lines that make the frames film(moments, *arguments) of the `run`."""
    moments = Name(f"{cell.call(read_run, run)}.moments")
    moments = cell.let("moments", cell.call(picked, moments, MOST_MOMENTS))
    return cell.let("film", Name(f"list({cell.call(film, moments, *arguments, **options)})"))


def frames_of(film: Callable, loaded: models.Loaded, moments: Sequence[Moment], *arguments) -> list:
    """Return the frames film(moments, *arguments), computed under a progress bar; it opens the models of the moments
    instead of the `loaded` one."""
    key = progress.work_key(film, loaded, (moments, *arguments))
    return progress.rows_of(key, lambda: film(moments, *arguments), len(moments))


def show_tiles(tiles: Sequence[TopLevelMixin], frames: Sequence, what: str, step: int | None) -> None:
    """Show one small picture of `what` for each frame; that of `step` is marked."""
    with st.container(horizontal=True, gap="small"):
        for frame, tile in zip(frames, tiles, strict=True):
            chosen = frame.step == step
            with st.container(width="content", key="chosen-step" if chosen else None):
                alt = f"{what} after {frame.step:,} steps{', the chosen step' * chosen}"
                picture = tile.properties(autosize="pad")  # as large as it says: Streamlit would fit in the title too
                layout.show_chart(picture, alt, width="content")


def settled(outputs: Sequence) -> int:
    """Return the index from which on all outputs equal the last one."""
    return next(i for i in range(len(outputs)) if set(outputs[i:]) == {outputs[-1]})


def text_field(run: TrainingRun) -> str:
    """Show the field for a text, with examples that suit what the run has learned from."""
    examples = {name.partition(",")[0]: {"text": each["text"]} for name, each in texts.of(run.name).play.items()}
    state.example_pills("Try", examples)
    first = state.first_texts(examples, "film")["text"]
    return state.linked_text(st.text_area, "Your text", "text", first, height=68)
