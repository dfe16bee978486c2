"""A story that the visitor follows: what to look at on this page, what it means, its control, and the ways on."""

import os
from collections.abc import Collection
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from app.shared.model.bundled import DEFAULT_MODEL
from app.shared.page import frame, layout, state
from app.shared.text import texts
from bertlab.io.stories import Station, Story, read_stories

BUNDLED = Path(__file__).parents[2] / "stories"
OWN = "BERTLAB_STORIES"  # the folder of `bertlab explore --stories`


def known(pages: Collection[str]) -> dict[str, Story]:
    """Return all stories by their names in links; `pages` are the addresses that there are.

    InputError names what is wrong in a file.
    """
    own = os.environ.get(OWN)
    return read_stories(BUNDLED, pages) | (read_stories(Path(own), pages) if own else {})


def address(name: str, story: Story, number: int) -> str:
    """Return the address of a station, counted from 1: as the page will write it, or that would be another entry in
    the browser's history."""
    station = story.stations[number - 1]
    usual = defaults(dict(station.choices).get("model", DEFAULT_MODEL), station.page)
    choices = [*(choice for choice in station.choices if choice not in usual), ("story", f"{name}/{number}")]
    choices += [("present", "true")] * frame.presented()
    return f"./{station.page}?{urlencode(choices)}"


def defaults(model: str, page: str) -> set[tuple[str, str]]:
    """Return the choices that a page does not write into its address when it shows this model."""
    offered = texts.of(model)
    tasks = [offered.opinions, offered.names, offered.questions, offered.next_sentence]
    kinds = {"": [offered.play], "tasks": tasks}  # the start page has no name in its address
    first = [next(iter(kind.values())) for kind in kinds.get(page, [offered.heads])]
    return {("model", DEFAULT_MODEL), *(choice for each in first for choice in each.items())}


def link(label: str, address: str) -> None:
    """Show a link that opens as any link does, so that the address alone decides what is seen."""
    st.html(f'<a class="way" href="{escape(address)}">{escape(label)}</a>', width="content")


def show(pages: Collection[str], page: str) -> None:
    """Show the station that the visitor follows, if there is one, above the page with this address."""
    if state.unset("story"):
        st.session_state.story = state.link_value("story") or ""
    name, _, number = st.session_state.story.partition("/")
    with layout.box():
        story = known(pages).get(name) if name else None
        if story and 1 <= (state.number_in(number) or 0) <= len(story.stations):
            state.share("story", st.session_state.story)
            with st.container(border=True, key="story", gap="xsmall"):
                show_station(name, story, int(number), page)


def show_station(name: str, story: Story, number: int, page: str) -> None:
    station, count = story.stations[number - 1], len(story.stations)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{station.title}** :gray[{story.title} ·\u00a0{number}\u00a0of\u00a0{count}]")
        if page != station.page:
            link("Back to this station", address(name, story, number))
        if number > 1:
            link("‹ Previous", address(name, story, number - 1))
        if number < count:
            link("Next ›", address(name, story, number + 1))
        else:
            link("All stories", "./stories")
        st.button(
            "", key="leave story", on_click=leave, type="tertiary", icon=":material/close:", help="Leave the story"
        )
    if page == station.page:
        show_texts(station)


def show_texts(station: Station) -> None:
    """Show what to look at; what it means waits until the visitor has guessed."""
    st.markdown(f"**Look.** {unbroken(station.look)}")
    with st.expander("Reveal what it means"):
        st.markdown(f"**What it means.** {unbroken(station.means)}\n\n**Control.** {unbroken(station.control)}")


def unbroken(text: str) -> str:
    return text.replace("> ", ">\u00a0")


def leave() -> None:
    st.session_state.story = ""
    state.share("story", "")
