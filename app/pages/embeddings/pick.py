"""The one text that is looked at closely: clicked in a picture, chosen in the list, or named by the link."""

import streamlit as st

from app.pages.embeddings.sets import TextSet
from app.shared import state

NEAR = 5  # nearest texts that are shown, as many as vote


def pick_key(texts: TextSet) -> str:
    return f"embeddings_text {hash(texts.texts)}"


def picked(texts: TextSet) -> int | None:
    """Its number, from 1."""
    key = pick_key(texts)
    if key not in st.session_state:
        linked = state.link_value("embeddings_text") or ""
        st.session_state[key] = int(linked) if linked.isdecimal() else None
    number = st.session_state[key]
    if number is not None and not 1 <= number <= len(texts.all_texts):
        number = st.session_state[key] = None
    return number


def pick(texts: TextSet, number: int) -> None:
    st.session_state[pick_key(texts)] = number


def choose(texts: TextSet) -> int | None:
    """The list of all texts, for those who cannot click a point."""
    both = list(zip(texts.all_labels, texts.all_texts, strict=True))
    number = st.selectbox(
        "Click a point above, or choose a text here",
        range(1, len(both) + 1),
        index=None,
        key=pick_key(texts),
        format_func=lambda number: f"{number} · {both[number - 1][0]} · {both[number - 1][1][:120]}",
        placeholder="Type to search",
    )
    state.share("embeddings_text", str(number or ""))
    return number
