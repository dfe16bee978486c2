"""Stories: the guided tours that there are."""

import streamlit as st

from app.explore import ADDRESSES
from app.shared.model import models
from app.shared.page import layout, stories
from bertlab.io.stories import Story


def show(name: str, story: Story) -> None:
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{story.title}**")
        st.markdown(story.about)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            stories.link("Start ›", stories.address(name, story, 1))
            st.caption(f"{len(story.stations)} stations", width="content")


layout.heading(
    "Stories",
    "Each story answers a question in a few stations. A station opens a page with the right text, model and head, and "
    "tells you what to look at, what it means, and which control could have proved it wrong.",
)
models.name_model(models.chosen())
with layout.box(), st.container(key="stories"):
    every = list(stories.known(ADDRESSES).items())
    for start in range(0, len(every), 2):
        for column, (name, story) in zip(st.columns(2, gap="medium"), every[start : start + 2], strict=False):
            with column:
                show(name, story)
