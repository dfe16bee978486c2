"""Stories: the guided tours that there are."""

import streamlit as st

from app.explore import ADDRESSES
from app.shared.model import models
from app.shared.page import layout, stories
from bertlab.io.stories import Story

IN_A_ROW = 3


def show(name: str, story: Story) -> None:
    with st.container(border=True, height="stretch"):
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
models.name_model(models.chosen())
with layout.box(), st.container(key="stories"):
    every = list(stories.known(ADDRESSES).items())
    for start in range(0, len(every), IN_A_ROW):
        row = every[start : start + IN_A_ROW]
        for column, (name, story) in zip(st.columns(IN_A_ROW), row, strict=False):
            with column:
                show(name, story)
