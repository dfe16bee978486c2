"""Training: the curves of a run, and a film of its snapshots; the chosen step is shown on the other pages too."""

from functools import partial
from pathlib import Path

import streamlit as st

from app.shared.model import gate, model_bar, models
from app.shared.model.bundled import STORYWORLD
from app.shared.page import layout
from app.views.training import gap_fills, head_forms, kept_film, learning_curves, pretraining_draw
from bertlab.errors import InputError, brief
from bertlab.explain.kept_film import has_film
from bertlab.explain.runs import Moment, TrainingRun, read_run
from bertlab.io.locate import bundled_models

CHOSEN = "the chosen model"
# Views show(run, step) mark the `step`. Each with the head that a run needs.
OF_SNAPSHOTS = {"A gap fills": (gap_fills, "fill"), "A head forms": (head_forms, "encoder")}
OF_A_MODEL = {"Pretraining's draw": (pretraining_draw, "fill")}


def choose_run(place) -> str:
    """Ask for the model of the header, another bundled one, a folder under runs/, or any folder typed by hand."""
    help = "What `bertlab pretrain` and `bertlab finetune` write, during training or afterwards. Type any folder."
    options = dict(key="run", bind="query-params", accept_new_options=gate.folders(), help=help)
    names, permit = [CHOSEN, *bundled_models(), *gate.runs()], lambda: gate.permit(st.session_state.run or "")
    chosen = place.selectbox("Training run", names, on_change=permit, **options)
    return st.session_state.opened_model if chosen in (None, CHOSEN) else chosen.strip()


def choose_moment(place, run: TrainingRun) -> Moment:
    """Ask for the snapshot that all pages show; this slider and that of the dialog stay the same."""
    moments = {str(moment.step): moment for moment in run.moments}
    current = next((m for m in run.moments if m.source == models.chosen()), run.moments[-1])
    st.session_state.training_step = str(current.step)
    options = dict(key="training_step", on_change=show_everywhere, args=[run])
    place.select_slider("Step of its training", list(moments), format_func=lambda step: f"{int(step):,}", **options)
    return moments[st.session_state.training_step]


def show_everywhere(run: TrainingRun) -> None:
    """Set the model of the header, and so of every page, to the chosen step of the run."""
    moment = next(moment for moment in run.moments if str(moment.step) == st.session_state.training_step)
    if run.name != st.session_state.opened_model:
        choose = model_bar.use if run.name in model_bar.offered() else model_bar.use_typed
        choose(run.name)
    st.session_state.step = models.END if moment.source == run.name else str(moment.step)


def opened(name: str) -> TrainingRun:
    """Return the run; a folder without one gets the same answer as one that does not exist."""
    if not gate.own(name) and not (gate.folders() and (Path(name).expanduser() / "recipe.json").is_file()):
        raise InputError(f"{brief(name)} is no run folder with a recipe.json. Bundled: {', '.join(bundled_models())}")
    return read_run(name)


def views_of(run: TrainingRun) -> dict:
    """Return the views that suit what this run learned and kept, the one with the most to show first; films need
    several snapshots, or what was kept of them."""
    kept = len(run.moments)
    offered = (OF_SNAPSHOTS if kept > 1 else {}) | (OF_A_MODEL if kept else {})
    film = {"The film": kept_film} if kept == 1 and has_film(run.moments[-1].source) else {}
    fit = {name: view for name, (view, task) in offered.items() if models.open_model(task, run.moments[-1].source)}
    return film | {"Learning curves": learning_curves} | fit


def show(place, run: TrainingRun) -> None:
    """`place` is where the slider goes."""
    moment, views = None, views_of(run)
    if len(run.moments) > 1:
        moment = choose_moment(place, run)
    else:
        if "The film" not in views and run.finished:
            st.caption("This run kept no snapshots. To keep some, train with `--set snapshot_steps=0,100,1000`.")
        text, film = f"Watch the snapshots of {STORYWORLD}", {"run": STORYWORLD, "training_tab": "A gap fills"}
        press = partial(st.session_state.update, film)
        place.button(text, key="film", icon=":material/movie:", type="tertiary", on_click=press)
    models.name_model(moment.source if moment else run.name)
    with layout.open_tab("training", views) as name:
        views[name].show(run, moment.step if moment else None)


layout.heading(
    "Training",
    "How a model came to know what it knows: step by step it fills a gap better, its heads change, and its loss falls.",
)
left, right = st.columns([2, 3], gap="medium", vertical_alignment="bottom")
with layout.box():
    chosen = choose_run(left)
    if models.upload_name(chosen):
        raise InputError("an uploaded model has no record of its training: choose a run")
    if gate.permitted(chosen):
        show(right, opened(chosen))
    else:
        gate.ask(chosen)
