"""Meaning: one point for each text, layer by layer, and where labels separate."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout
from app.views.meaning import clouds, measures, nearest_texts, projection, texts


def show() -> None:
    left, right = st.columns(2, gap="large", vertical_alignment="bottom")
    chosen = texts.choose(left)
    if chosen is None:
        return
    loaded = models.model_for("encoder")
    with right.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        choices = clouds.choose(loaded)
    clouds.notices(loaded, chosen, choices.pooling)
    shown = clouds.clouds(loaded, chosen, choices)
    with layout.box():
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
