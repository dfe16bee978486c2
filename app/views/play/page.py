"""Play: a sentence with a gap, in two versions. The visitor guesses the hidden word, and so does BERT."""

from collections.abc import Callable, Sequence
from types import ModuleType

import streamlit as st

from app.explore import PAGES, file_of
from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.markdown import chip_names, explained
from app.shared.text import fit, texts
from app.views.play import film, guesses, layer_by_layer, sides, whole_text, why
from app.views.play.gap import Question, Version, named, played
from bertlab.draw.html.marked import gapped_sentence
from bertlab.explain.text import encode


def each(view: ModuleType) -> Callable[..., None]:
    """Return what shows a view of one question for every model, below what introduces it."""

    def show(asked: Sequence[Question], *_) -> None:
        st.markdown(view.INTRO, help=explained(view.INTRO))
        layout.side_by_side(asked, view.show)

    return show


VIEWS = {
    "Through the layers": film.show,
    "Layer by layer": each(layer_by_layer),
    "Why this word?": each(why),
    "Left to right, or both sides?": sides.show,
    "Whole text": each(whole_text),
}
OTHER_PAGES = {
    "attention": "Where does each head look?",
    "meaning": "Which texts are alike?",
    "tasks": "Is it praise?",
    "training": "How did it learn this?",
}


def fields(examples: state.Examples) -> tuple[str, str]:
    """Show the fields for a sentence and another version of it. Returns both; "" without another version."""
    first = state.first_texts(examples, "gap")
    forget_version_of_another()
    row = st.container(horizontal=True, gap="medium", key="sentences")
    lines = "\n" in st.session_state.get("text", st.query_params.get("text", ""))  # from a page with a field for them
    field = row.text_area if lines else row.text_input
    text = state.linked_text(field, "Your sentence, with ___ for a word", "text", first["text"])
    usual = first["other"] if text == first["text"] else ""
    other = state.linked_text(row.text_input, "Another version of it (optional)", "other", usual, placeholder=" ")
    st.session_state.played = text, other
    return text, "" if other.split() == text.split() else other


def forget_version_of_another() -> None:
    """Empty the field for another version if its sentence was changed, here or on another page, and it was not."""
    text, other = st.session_state.get("played", ("", ""))
    if text != st.session_state.get("text", text) and other == st.session_state.get("other") and not state.went_back():
        st.session_state.other = ""


def swap(names: list[str]) -> int:
    """Ask which of two versions is the large one, at first that of the link. Returns its number, counted from 0."""
    if not names:
        state.share("version", "")
        return 0
    look = dict(field=st.segmented_control, label_visibility="collapsed")
    return state.linked_chip("Swap", chip_names(names), f"version {hash(tuple(names))}", "version", counted=1, **look)


def guess_of(both: list[Version]) -> tuple[str, bool]:
    """Ask for the visitor's guess, at first that of the link; another sentence asks again. Returns it, and whether the
    guesses of the model wait for it."""
    key = f"guess {hash(tuple(both))}"
    state.open_with(key, "guess", lambda linked: linked or "")
    options = dict(persist_state="session", label_visibility="collapsed", width=260)
    word = st.text_input("Your guess", key=key, placeholder="Your guess, then Enter", **options).strip()
    state.share("guess", word)
    help = "Hides the guesses of the model until you have made yours."
    return word, st.toggle("Guess first", key="guess_first", bind="query-params", help=help) and not word


def show(text: str, other: str) -> None:
    """Show the large sentence, the guesses, and below them what is shown on request."""
    loaded, beside = models.model_for("fill"), models.beside("fill")
    encoded = encode(loaded.tokenizer, text, None, loaded.limit)
    layout.notices(loaded.name, encoded.dropped, encoded.unknown, len(encoded.tokens))
    place = st.container()
    both = played(loaded, encoded, text, other)
    names = named(both) if len(both) > 1 else []
    with st.container(horizontal=True, vertical_alignment="center"):
        number = swap(names)
        word, hide = guess_of(both)
    place.html(gapped_sentence(both[number].text, both[-1 - number].text))
    fit.notice("fill", loaded, text)
    if hide:
        return
    asked = [Question(loaded, both[number], "")] + ([Question(beside, both[number], "-beside")] if beside else [])
    for question in asked:
        with layout.box():
            guesses.show(question, both, names, word)
    with st.container(key="behind"), layout.box():
        view = st.pills("**Look behind it**", list(VIEWS), key="play_view", bind="query-params")
        if view:
            VIEWS[view](asked, both, encoded)


layout.heading(
    "What word is hidden?",
    "BERT reads the words on *both* sides of the gap and guesses. What is your guess?",
)
state.example_pills("Try", texts.chosen().play)
text, other = fields(texts.chosen().play)
with st.container(key="answers"), layout.box():
    show(text, other)
with st.container(horizontal=True, vertical_alignment="center"):
    for page, question in OTHER_PAGES.items():
        st.page_link(file_of(page), label=question, icon=PAGES[page][1])
