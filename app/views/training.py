"""Training: the curves of a run, and its snapshots as a film; the chosen step drives the other pages."""

from pathlib import Path

import models
import state
import streamlit as st
from parts import training_cloud, training_curves, training_heads, training_words

from bertlab.errors import InputError
from bertlab.explain.runs import Moment, TrainingRun, read_run
from bertlab.locate import bundled_models

CHOSEN = "the chosen model"
RUNS = Path("runs")  # where `bertlab pretrain` writes
MOST_MOMENTS = 12  # of a film
TEXT = "the animal didn't cross the street because the [MASK] was too tired."
EXAMPLES = {
    "who was too tired?": TEXT,
    "what was too wide?": TEXT.replace("tired", "wide"),
    "penguins": "penguins are flightless [MASK].",
    "too big": "the trophy didn't fit in the suitcase because the [MASK] was too big.",
}
PAGES = {
    "masking": ("Masked words", ":material/visibility_off:"),
    "attention": ("Attention heads", ":material/grid_on:"),
    "embeddings": ("[CLS] embeddings", ":material/scatter_plot:"),
    "spans": ("Answer spans", ":material/question_answer:"),
}


def choose_run() -> str:
    """The model of the bar, another bundled one, a folder under runs/, or any folder typed by hand."""
    found = sorted(str(recipe.parent) for recipe in RUNS.glob("*/recipe.json"))
    chosen = st.selectbox(
        "Run",
        [CHOSEN, *bundled_models(), *found],
        key="run",
        bind="query-params",
        accept_new_options=True,
        help="What `bertlab pretrain` and `bertlab finetune` write, while they run or afterwards. Type any folder.",
    )
    return st.session_state.opened_model if chosen in (None, CHOSEN) else chosen


def choose_moment(run: TrainingRun) -> Moment:
    """The snapshot that all pages show; this slider and that of the model bar are one."""
    moments = {str(moment.step): moment for moment in run.moments}
    current = next((m for m in run.moments if m.source == models.chosen()), run.moments[-1])
    st.session_state.training_step = str(current.step)
    st.select_slider(
        "After how many training steps", list(moments), key="training_step", on_change=look_everywhere, args=[run]
    )
    return moments[st.session_state.training_step]


def look_everywhere(run: TrainingRun) -> None:
    """Let the model bar, and so every page, show the chosen step of the run."""
    moment = next(moment for moment in run.moments if str(moment.step) == st.session_state.training_step)
    if run.name != st.session_state.opened_model:
        bundled = run.name in bundled_models()
        st.session_state.folder = "" if bundled else run.name
        if bundled:
            st.session_state.model = run.name
    st.session_state.step = models.END if moment.source == run.name else str(moment.step)


def show_links(run: TrainingRun, moment: Moment) -> None:
    """Buttons, not links: they carry the step and the text along."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"See step {moment.step:,} on", width="content")
        for page, (title, icon) in PAGES.items():
            if st.button(title, icon=icon, key=f"to {page}", type="tertiary"):
                st.session_state.text = st.session_state.get("film_text", TEXT)
                st.session_state.pair = st.session_state.get("film_pair", "")
                st.switch_page(f"views/{page}.py")


def film_moments(run: TrainingRun) -> tuple[Moment, ...]:
    """The snapshots, or a dozen of many, evenly picked."""
    count = len(run.moments)
    if count <= MOST_MOMENTS:
        return tuple(run.moments)
    st.caption(f"{MOST_MOMENTS} of {count} snapshots are shown, from the first to the last.")
    return tuple(run.moments[round(i * (count - 1) / (MOST_MOMENTS - 1))] for i in range(MOST_MOMENTS))


def last_model(task: str, moments: tuple[Moment, ...]) -> models.Loaded:
    loaded = models.open_model(task, moments[-1].source)
    if loaded is None:
        raise InputError("this run learned another task than filling gaps: look at its heads")
    return loaded


def cell_source(name: str) -> str:
    """What a notebook cell opens: of an upload, a folder of that name."""
    upload = st.session_state.get("upload_names", {}).get(name)
    return Path(upload).stem if upload else name


def texts() -> tuple[str, str | None]:
    state.example_pills("Try", {name: {"film_text": text, "film_pair": ""} for name, text in EXAMPLES.items()})
    return state.text_fields("film_", TEXT)


def show(run: TrainingRun) -> None:
    film, source = len(run.moments) > 1, cell_source(run.name)
    moment = choose_moment(run) if film else None
    if film:
        show_links(run, moment)
    views = {"curves": "Learning curves"}
    views |= {"words": "A gap fills", "head": "A head forms", "cloud": "[CLS] sorts texts"} if film else {}
    if not film:
        st.caption(
            "This run kept no snapshots, so there is no film of it. `--set snapshot_steps=0,100,1000` keeps some."
        )
    tabs = state.tabs("training", views)
    step = moment and moment.step
    if tabs["curves"].open:
        with tabs["curves"], state.box():
            training_curves.show(run, source, step)
    for key, task, part in (("words", "fill", training_words), ("head", "encoder", training_heads)):
        if key in tabs and tabs[key].open:
            with tabs[key], state.box():
                written = texts()
                moments = film_moments(run)
                part.show(last_model(task, moments), moments, source, *written, step)
    if "cloud" in tabs and tabs["cloud"].open:
        with tabs["cloud"], state.box():
            moments = film_moments(run)
            training_cloud.show(last_model("encoder", moments), moments, source, step)


state.heading(
    "Training",
    "How a model came to know what it knows. Its loss fell below one simple guess after another; its snapshots, opened "
    "one by one, show a gap being filled better and a head finding its place.",
)
with state.box():
    show(read_run(choose_run()))
