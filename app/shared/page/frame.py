"""The looks of every page, and what it does to the browser's history. Imports nothing heavy: it comes first."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

LOOKS = {path.name: path.read_text(encoding="utf-8") for path in (Path(__file__).parent / "looks").iterdir()}
READY = Event()  # set once a visitor has seen a whole page


def show() -> DeltaGenerator:
    """Give the page its looks, and its history in the browser. Returns where the model stands, in the header."""
    styles = LOOKS["page.css"]
    if st.context.theme.type == "dark":
        styles += LOOKS["dark.css"]
    if presented():
        styles += LOOKS["presented.css"]
    st.html(f"<style>{styles}</style><script>{LOOKS['keys.js']}</script>", unsafe_allow_javascript=True)
    help = "Large type and no menus. The arrow keys step through a story, or else through the pages."
    row = dict(horizontal=True, horizontal_alignment="right", vertical_alignment="center", gap="small")
    with st.container(**row, key="bar"):
        place = st.container(**row, key="model-bar", width="content")
        st.toggle("Present", key="present", bind="query-params", persist_state="session", help=help)
    return place


def presented() -> bool:
    """Return whether the page is shown to a class."""
    return st.session_state.get("present", st.query_params.get("present") == "true")


@contextmanager
def loading(title: str) -> Iterator[None]:
    """Show the title of a page and that it is loading, while a server that was just started imports what it needs."""
    place = st.empty()
    if not READY.is_set():
        with place.container():
            st.title(title, anchor=False)
            st.caption("Loading the explorer and its model …")
    yield
    READY.set()
    place.empty()


def import_altair() -> None:
    """Import Altair without a grammar that jsonschema would build for seconds: of a kind of address no chart has."""
    grammar = "rfc3987_syntax"
    if grammar in sys.modules:
        return
    sys.modules[grammar] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        import altair  # noqa: F401
    finally:
        del sys.modules[grammar]
