"""Meaning: one point for each text, layer by layer, and where labels separate."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.views.meaning import clouds, measures, nearest_texts, projection, texts


def show() -> None:
    chosen = texts.choose()
    if st.session_state.get("meaning_file"):
        state.unlinked("file")
    if chosen is None:
        return
    loaded = models.model_for("encoder")
    choices = clouds.choose(loaded)
    clouds.notices(loaded, chosen, choices.pooling)
    shown = clouds.clouds(loaded, chosen, choices)
    with layout.box():
        nearest_texts.show_yours(shown)
        projection.show(shown)
    with layout.box():
        nearest_texts.show(shown)
    with layout.box():
        measures.show(shown)


layout.heading(
    "Meaning",
    "BERT turns each text into a vector, here a point. Do texts that mean alike lie close together, and was that "
    "learned?",
)
with layout.box():
    show()
