"""Training: the curves of a run, and its snapshots as a film; the chosen step drives the other pages."""

from pathlib import Path

import streamlit as st

from app.pages.training import answers as training_answers
from app.pages.training import cloud as training_cloud
from app.pages.training import curves as training_curves
from app.pages.training import heads as training_heads
from app.pages.training import words as training_words
from app.shared import models, state, uploads
from bertlab.errors import InputError
from bertlab.explain.runs import Moment, TrainingRun, read_run
from bertlab.io.locate import bundled_models

CHOSEN = "the chosen model"
RUNS = Path("runs")  # where `bertlab pretrain` writes
FILMS = {  # with the task that a run needs a head for
    "A gap fills": (training_words, "fill"),
    "An answer is found": (training_answers, "answer"),
    "A head forms": (training_heads, "encoder"),
    "[CLS] and topics": (training_cloud, "encoder"),
}
PAGES = {  # with the task that a model needs a head for, to be shown there
    "masking": ("Masked words", ":material/visibility_off:", "fill"),
    "attention": ("Attention heads", ":material/grid_on:", "encoder"),
    "embeddings": ("[CLS] embeddings", ":material/scatter_plot:", "encoder"),
    "spans": ("Answer spans", ":material/question_answer:", "answer"),
}


def choose_run(place) -> str:
    """The model of the bar, another bundled one, a folder under runs/, or any folder typed by hand."""
    found = sorted(str(recipe.parent) for recipe in RUNS.glob("*/recipe.json"))
    chosen = place.selectbox(
        "Training run",
        [CHOSEN, *bundled_models(), *found],
        key="run",
        bind="query-params",
        accept_new_options=True,
        help="What `bertlab pretrain` and `bertlab finetune` write, while they run or afterwards. Type any folder.",
    )
    return st.session_state.opened_model if chosen in (None, CHOSEN) else chosen


def choose_moment(place, run: TrainingRun) -> Moment:
    """The snapshot that all pages show; this slider and that of the model bar are one."""
    moments = {str(moment.step): moment for moment in run.moments}
    current = next((m for m in run.moments if m.source == models.chosen()), run.moments[-1])
    st.session_state.training_step = str(current.step)
    place.select_slider(
        "After how many training steps",
        list(moments),
        format_func=lambda step: f"{int(step):,}",
        key="training_step",
        on_change=look_everywhere,
        args=[run],
    )
    return moments[st.session_state.training_step]


def look_everywhere(run: TrainingRun) -> None:
    """Let the model bar, and so every page, show the chosen step of the run."""
    moment = next(moment for moment in run.moments if str(moment.step) == st.session_state.training_step)
    if run.name != st.session_state.opened_model:
        uploads.set_aside()
        bundled = run.name in bundled_models()
        st.session_state.folder = "" if bundled else run.name
        if bundled:
            st.session_state.model = run.name
    st.session_state.step = models.END if moment.source == run.name else str(moment.step)


def show_links(run: TrainingRun, moment: Moment) -> None:
    """To the pages that show the chosen step; of a run that is not in the model bar, first a way to put it there."""
    if moment.source != models.chosen():
        said = f"Show step {moment.step:,} on all pages"
        st.button(said, icon=":material/open_in_new:", on_click=look_everywhere, args=[run])
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"See step {moment.step:,} on", width="content")
        for page, (title, icon, task) in PAGES.items():
            if models.open_model(task, moment.source) is not None:
                st.page_link(f"pages/{page}/page.py", label=title, icon=icon)


def films(run: TrainingRun) -> dict:
    """What shows the snapshots of this run, by what it learned."""
    last = run.moments[-1].source
    return {name: part for name, (part, task) in FILMS.items() if models.open_model(task, last) is not None}


def cell_source(name: str) -> str:
    """What a notebook cell opens: of an upload, a folder of that name."""
    upload = models.upload_name(name)
    return Path(upload).stem if upload else name


def show(place, run: TrainingRun) -> None:
    """`place` is where the slider goes."""
    if film := len(run.moments) > 1:
        moment = choose_moment(place, run)
        show_links(run, moment)
    else:
        how = "`--set snapshot_steps=0,100,1000` keeps some"
        st.caption(f"This run kept no snapshots, so there is no film of it; {how}.")
    views = {"Learning curves": training_curves} | (films(run) if film else {})
    with state.open_tab("training", views) as name:
        views[name].show(run, cell_source(run.name), moment.step if film else None)


state.heading(
    "Training",
    "How a model came to know what it knows. Its loss fell below one simple guess after another; its snapshots, opened "
    "one by one, show a gap being filled better and a head finding its place.",
)
left, right = st.columns([2, 3], gap="medium")
with state.box():
    chosen = choose_run(left)
    if models.upload_name(chosen):
        raise InputError("an uploaded model brings no record of its training: choose a run")
    show(right, read_run(chosen))
