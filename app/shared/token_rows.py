"""Charts with a row for each token: a long one scrolls, so that every token stays readable."""

import streamlit as st
from altair import TopLevelMixin

SEEN = 30  # rows that stand on the page without scrolling
HEIGHT = 620  # pixels


def show(chart: TopLevelMixin, tokens: int, alt: str) -> None:
    with st.container(height=HEIGHT if tokens > SEEN else "content", border=False):
        st.altair_chart(chart, width="stretch", alt=alt)
