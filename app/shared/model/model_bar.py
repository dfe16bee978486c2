"""The model in the header, and the dialog that changes it, its training step and what it is compared with."""

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.shared.model import gate, models, uploads
from app.shared.model.bundled import DEFAULT_MODEL, HUB, LEFT_TO_RIGHT, READ, STORYWORLD, origin
from app.shared.page import layout, state
from app.shared.page.markdown import plain
from bertlab.errors import InputError
from bertlab.io.files import read_bytes
from bertlab.io.locate import bundled_models
from bertlab.model.summary import ModelFacts, model_facts

CARD_CHARACTERS = 20_000
HUB_HELP = "Fetched once from the Hugging Face hub, then kept on this machine: some 440 MB."
HELP = (
    "A folder with config.json and model.safetensors, such as one that `bertlab pretrain` wrote. Or a BERT of the "
    "Hugging Face hub as org/name: only this uses the network."
)
UPLOAD_HELP = (
    "One zip of a model's folder, or its files: config.json, model.safetensors, and vocab.txt or tokenizer.json. They "
    "are read as data only, stay on this server while your page is open, and nobody else can see them."
)


def show(bar: DeltaGenerator) -> None:
    """Show in the `bar` which model the page shows, and the dialog that changes it. If a model cannot be opened, say
    why, and keep the one before it."""
    with bar:
        st.session_state.shown_models = {}, {}, st.empty()
        with st.popover("Change", type="tertiary"), st.container(key="models"):
            facts, wanted, rest = st.container(), choose(), st.container()
    with layout.box():
        open_one(wanted)
        choose_step(rest)
        with rest:
            compare_with()
            show_facts(models.chosen(), facts)
    for key in ("folder", "versus"):
        with st.empty():  # a question that was answered goes at once, not at the end of the run
            gate.ask(st.session_state.get(key) or st.query_params.get(key, ""))
    say_what_is_lost()


def open_one(wanted: str) -> None:
    """Open `wanted`; if that fails the model before it, or else the bundled one that is chosen."""
    before, tried = st.session_state.get("opened_model"), {}
    for name in (wanted, before or st.session_state.model, DEFAULT_MODEL):
        tried[name] = models.problem_of(name)
        if not tried[name]:
            break
    if tried[wanted]:
        still = "still " if name == before else ""
        st.error(f"{plain(tried[wanted])}\n\nYou {still}see **{models.readable(name)}**.", icon=":material/edit:")
    st.session_state.opened_model, st.session_state.opened_name = name, models.newest(name)


def say_what_is_lost() -> None:
    """Name an upload that the address holds and this session does not have: it went with the session before."""
    here = uploads.name() or ""
    lost = state.link_value("upload") if not here else None
    if lost:
        text = f"**{plain(lost)}** was uploaded before this page was reloaded or opened, and is not here any more. "
        st.warning(f"{text}You see **{models.readable(models.chosen())}**. Upload it again under Change, above.")
    state.share("upload", here)


def choose() -> str:
    """Show the fields for a model: what was chosen last is shown. In a link a folder precedes a bundled model."""
    label = "Bundled model" if gate.places() else "Bundled model or training run"
    pick = dict(on_change=lambda: use(st.session_state.model))
    bundled = state.linked_select(label, offered(), "model", DEFAULT_MODEL, **pick)
    switch_world(bundled)
    typed = type_folder().strip() if gate.places() else ""
    with st.expander("or upload one", icon=":material/upload:"):
        endings = ["zip", "json", "txt", "safetensors", "bin"]
        options = dict(accept_multiple_files=True, max_upload_size=uploads.MOST_MEGABYTES)
        st.file_uploader("Model files", endings, key="upload", help=UPLOAD_HELP, **options)
    if state.went_back():
        uploads.follow(st.query_params.get("upload"))
    try:
        upload = uploads.uploaded()
    except InputError as error:
        st.error(plain(str(error)), icon=":material/upload_file:")
        upload = uploads.current()
    return upload or (typed if gate.permitted(typed) else "") or bundled


def offered() -> list[str]:
    """Return the bundled BERTs, as a left-to-right model would have nothing to say on most pages; and where no folder
    can be typed, the training runs of this server."""
    bundled = [name for name in bundled_models() if name not in LEFT_TO_RIGHT.values()]
    return bundled if gate.places() else [*bundled, *gate.runs()]


def switch_world(bundled: str) -> None:
    """Show a button that leads to the small world, and there one that leads back to real English."""
    other, label, icon = STORYWORLD, "A small world whose every word we know", ":material/cottage:"
    if origin(bundled) == STORYWORLD:
        other, label, icon = DEFAULT_MODEL, "Back to real English", ":material/menu_book:"
    st.button(label, key="world", icon=icon, type="tertiary", on_click=use, args=[other])


def use(name: str) -> None:
    """Choose another model of the list, as if it had been picked in the dialog."""
    st.session_state.model = name
    if "folder" in st.session_state:
        st.session_state.folder = ""
    uploads.set_aside()
    state.forget_positions()


def type_folder() -> str:
    """Show the field for a folder or hub id. What the visitor types may be opened; what a link brings is asked for."""
    label = f"or a {gate.places()}"
    typed = state.linked_text(
        st.text_input, label, "folder", placeholder="runs/own-text", help=HELP, on_change=open_typed
    )
    if gate.the_hub():
        with st.expander("or a well-known one", icon=":material/cloud_download:"):
            for name, about in HUB.items():
                label = f"{name.partition('/')[2]}: {about}"
                st.button(label, key=f"hub {name}", type="tertiary", help=HUB_HELP, on_click=use_typed, args=[name])
    return typed


def open_typed() -> None:
    if st.session_state.folder.strip():
        uploads.set_aside()
    state.forget_positions()
    gate.permit(st.session_state.folder)


def use_typed(name: str) -> None:
    """Choose a folder or a model of the hub, as if it had been typed."""
    st.session_state.folder = name
    open_typed()


def choose_step(place: DeltaGenerator) -> None:
    """Show a slider over the snapshots of the model's training, if it has any. It sets the model of every page."""
    steps = models.steps_of(st.session_state.opened_model)
    if not steps:
        state.share("step", "")
        return
    state.open_with("step", "step", lambda linked: linked)
    if st.session_state.step not in steps:
        st.session_state.step = steps[-1]
    help = "Snapshots of the model, from the initial weights at step 0. Move the slider to watch it learn."
    place.select_slider("Step of its training", steps, key="step", persist_state="session", help=help)
    state.share("step", st.session_state.step if st.session_state.step != steps[-1] else "")
    name = models.at_step(st.session_state.opened_model, st.session_state.step)
    if wrong := models.problem_of(name):
        st.error(plain(wrong), icon=":material/edit:")
    else:
        st.session_state.opened_name = name


def compare_with() -> None:
    names = [models.NOTHING, models.RANDOM, *offered()]
    state.linked_select(
        "Compare with",
        names,
        "versus",
        models.NOTHING,
        on_change=lambda: gate.permit(st.session_state.versus or ""),
        accept_new_options=bool(gate.places()),
        help="A second model, shown beside the first where that tells you something. "
        + (f"You can also type a {gate.places()}, or a snapshot: storyworld-tiny/step-00300." if gate.places() else ""),
    )


@st.cache_data(max_entries=50, show_spinner=False)
def _facts(folder: str, stamp: str) -> ModelFacts:
    return model_facts(folder)


def show_facts(name: str, place: DeltaGenerator) -> None:
    """Show in one sentence, in its `place`, what a model is, and here on request its card."""
    folder = models.folder_of(name)
    facts = _facts(str(folder), str(models.contents(folder)))
    size = f"{facts.config['num_hidden_layers']} layers of {facts.config['num_attention_heads']} heads"
    read = READ.get(origin(name) or "")
    has_read = f". It has read {read}." if read else ""
    place.caption(f"**{models.readable(name)}**: {size}, {facts.total:,} parameters{has_read}")
    show_card(folder)


def show_card(folder: Path) -> None:
    """Show the model card as plain text: as Markdown, somebody else's card could make the page fetch pictures."""
    try:
        card = read_bytes(folder / "README.md").decode("utf-8", errors="replace")
    except InputError:
        return
    with st.expander("About this model", icon=":material/info:"):
        st.code(card[:CARD_CHARACTERS], language=None, wrap_lines=True, height=320)
