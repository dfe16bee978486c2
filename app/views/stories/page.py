"""Stories: the guided tours that there are."""

import streamlit as st

from app.explore import ADDRESSES
from app.shared.page import layout, stories
from bertlab.io.stories import Story

CARD = 346  # pixels: three beside each other


def show(name: str, story: Story) -> None:
    with st.container(border=True, width=CARD, height="stretch"):
        st.markdown(f"**{story.title}**")
        st.markdown(story.about)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            stories.link("Start ›", stories.address(name, story, 1))
            st.caption(f"{len(story.stations)} stations", width="content")


layout.heading(
    "Stories",
    "Each story answers a question in a few stations. At each you see what to look at, guess what it means, and read "
    "which control could have proved it wrong.",
)
with layout.box(), st.container(key="stories", horizontal=True, gap="small"):
    for name, story in stories.known(ADDRESSES).items():
        show(name, story)
