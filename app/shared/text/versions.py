"""Another version of the visitor's text beside the first: one word changed, and what that changes."""

from difflib import SequenceMatcher

import streamlit as st

from app.shared.page import state
from bertlab.draw.html.marked import changed_words

LETTERS = 40  # of a version in a heading


def examples_and_switch(examples: dict[str, dict[str, str]]) -> None:
    """Show the examples of a page, and beside them the switch for another version of its text."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        state.example_pills("Try", examples)
        help = "Shows another version of the text beside the first, and says what its other words change."
        st.toggle("Two versions", key="two", bind="query-params", help=help)


def field(text: str) -> str | None:
    """Show the field for another version if it is switched on. Returns it; None while it is the same."""
    if not st.session_state.get("two"):
        return None
    other = state.linked_text(st.text_input, "The other version: change a word or two", "other", text)
    if other.split() == text.split() or not other.strip():
        st.caption("Both versions are the same so far.")
        return None
    st.html(changed_words(text, other))
    return other


def partners(one: list[str], other: list[str]) -> dict[int, int]:
    """Return for each item of `one` its partner in `other`, by position: equal items, and those that took their place.

    Items that were added, left out, or replaced by more or fewer have none.
    """
    found: dict[int, int] = {}
    for kind, first, stop, start, end in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "replace" and stop - first == end - start):
            found.update(zip(range(first, stop), range(start, end), strict=True))
    return found


def short(text: str) -> str:
    return text if len(text) <= LETTERS else f"… {text[-LETTERS:]}"
