"""Play: a sentence with a gap, in two versions. The visitor guesses the hidden word, and so does BERT."""

from os.path import commonprefix

import streamlit as st

from app.explore import PAGES, file_of
from app.shared.model import models
from app.shared.page import layout, state
from app.shared.text import fit, texts, versions
from app.views.masking import mask
from app.views.play import film, guesses, sides
from app.views.play.guesses import Version
from bertlab.draw.html.marked import gapped_sentence
from bertlab.explain.text import Encoded, clean, encode

ON_REQUEST = {"Through the layers": film, "Left to right, or both sides?": sides}
DOORS = {
    "attention": "Where does each head look?",
    "embeddings": "Which texts are alike?",
    "labels": "Is it praise? Who is named?",
    "training": "How did it learn this?",
}


def fields(examples: state.Examples) -> tuple[str, str]:
    """Show the fields for a sentence and another version of it. Returns both; "" without another one."""
    first = state.first_texts(examples)
    forget_version_of_another()
    left, right = st.columns(2)
    text = state.linked_text(left.text_input, "Your sentence, with [MASK] for a word", "text", first["text"])
    usual = first["other"] if text == first["text"] else ""
    other = state.linked_text(right.text_input, "Another version of it (optional)", "other", usual)
    st.session_state.played = text, other
    return text, "" if other.split() == text.split() else other


def forget_version_of_another() -> None:
    """Empty the field for another version if its sentence was changed, here or on another page, and it was not."""
    text, other = st.session_state.get("played", ("", ""))
    if text != st.session_state.get("text", text) and other == st.session_state.get("other") and not state.moved():
        st.session_state.other = ""


def hidden(encoded: Encoded) -> list[int]:
    """Return the masked positions; where no [MASK] is typed, ask which words to hide."""
    typed, kept = mask.typed_masks(encoded), st.session_state[mask.masked_key(encoded)]
    if not typed or set(kept) - set(typed):
        return mask.choose(encoded)
    mask.share_masked(encoded, typed)
    return typed


def played(loaded: models.Loaded, encoded: Encoded, text: str, other: str) -> list[Version]:
    """Ask for a gap where there are several. Returns the text with it, and the other version if that has it too."""
    positions = hidden(encoded)
    if not positions:
        return []
    chosen = positions[mask.choose_one(encoded, positions)]
    found = [version(text, encoded, positions, chosen)]
    if not clean(other):
        return found
    theirs = encode(loaded.tokenizer, other, None, loaded.limit)
    partner = versions.partners(encoded.tokens, theirs.tokens)
    if chosen not in partner or (encoded.tokens[chosen] == "[MASK]") != (theirs.tokens[partner[chosen]] == "[MASK]"):
        st.info("The other version does not have this gap.", icon=":material/info:")
        return found
    second = version(other, theirs, [partner[i] for i in positions if i in partner], partner[chosen])
    return found if second.text == found[0].text else [*found, second]


def version(text: str, encoded: Encoded, positions: list[int], chosen: int) -> Version:
    """Return a text with [MASK] written at `positions`, to be guessed at the `chosen` one."""
    typed = mask.typed_masks(encoded)
    written = mask.write_masks(text, encoded, 0, [i for i in positions if i not in typed])
    gap = sorted({*typed, *positions}).index(chosen)
    return Version(written, gap, None if chosen in typed else encoded.tokens[chosen])


def named(both: list[Version]) -> list[str]:
    """Return the words in which two versions differ, to tell them apart."""
    words = [version.text.split() for version in both]
    start = len(commonprefix(words))
    end = len(commonprefix([each[start:][::-1] for each in words]))
    return [" ".join(each[start : len(each) - end]).strip(".,;:!?") or "without" for each in words]


def swap(names: list[str]) -> int:
    """Ask which of two versions is the large one, at first that of the link. Returns its number, counted from 0."""
    if not names:
        state.share("version", "")
        return 0
    key = f"version {hash(tuple(names))}"
    if state.unset(key):
        st.session_state[key] = int(state.link_value("version") == "2")
    state.keep(key)
    options = dict(required=True, persist_state="session", label_visibility="collapsed")
    number = st.segmented_control("Swap", [0, 1], key=key, format_func=names.__getitem__, **options)
    state.share("version", "2" if number else "")
    return number


def guess_of(both: list[Version]) -> str:
    """Ask for the visitor's guess, at first that of the link; another sentence asks again."""
    key = f"guess {hash(tuple(both))}"
    if state.unset(key):
        st.session_state[key] = state.link_value("guess") or ""
    state.keep(key)
    options = dict(persist_state="session", label_visibility="collapsed", width=260)
    word = st.text_input("Your guess", key=key, placeholder="Your guess, then Enter", **options).strip()
    state.share("guess", word)
    return word


def show(text: str, other: str, top, below) -> None:
    """`top` is the place for the large sentence, `below` that for what is shown on request."""
    loaded, beside = models.model_for("fill"), models.beside("fill")
    encoded = encode(loaded.tokenizer, text, None, loaded.limit)
    layout.notices(loaded.name, encoded.dropped, encoded.unknown, len(encoded.tokens))
    with top:
        place, choices = st.container(), st.container()
        both = played(loaded, encoded, text, other)
        names = named(both) if len(both) > 1 else []
        with choices.container(horizontal=True, vertical_alignment="center"):
            number = swap(names)
            word = guess_of(both) if both else ""
        large = [version.text for version in both] or [clean(text)]
        place.html(gapped_sentence(large[number], large[-1 - number]))
    fit.notice("fill", loaded, text)
    if both:
        asked = list(filter(None, (loaded, beside)))
        for one in asked:
            with layout.box():
                guesses.show(one, both, names, word, beside=one is not loaded)
        with below:
            view = st.pills("Look behind it", list(ON_REQUEST), key="play_view", bind="query-params")
            if view:
                with layout.box():
                    ON_REQUEST[view].show(asked, both, number, encoded)


layout.heading(
    "What word is hidden?",
    "You guess, then BERT does: it reads the words on *both* sides of the gap.",
)
state.example_pills("Try", texts.chosen().play)
top, answers, own, below = st.container(), st.container(key="answers"), st.container(), st.container(key="behind")
with own:
    text, other = fields(texts.chosen().play)
with answers, layout.box():
    show(text, other, top, below)
with st.container(horizontal=True, vertical_alignment="center"):
    for page, question in DOORS.items():
        st.page_link(file_of(page), label=question, icon=PAGES[page][1])
