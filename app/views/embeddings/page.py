"""[CLS] embeddings: one point for each text, layer by layer, and where labels separate."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.views.embeddings import clouds, measures, nearest_texts, projection, texts


def show() -> None:
    chosen = texts.choose()
    if st.session_state.get("embeddings_file"):
        state.unlinked("file")
    if chosen is None:
        return
    loaded = models.model_for("encoder")
    look = clouds.choose_look(loaded)
    clouds.notices(loaded, chosen, look.pooling)
    shown = clouds.clouds(loaded, chosen, look)
    with layout.box():
        projection.show(shown)
    measured = None  # as long as the visitor stops it
    with layout.box():
        measured = [clouds.measures(cloud) for cloud in shown]
        measures.show_verdict(shown, measured)
    with layout.box():
        nearest_texts.show(shown)
    if measured:
        with layout.box():
            measures.show_layers(shown, measured)


layout.heading(
    "[CLS] embeddings",
    "The [CLS] token stands before every text, and a classifier reads its vector. Each point is the vector of one "
    "text, projected to two dimensions. Similar vectors lie close together. Do they share a label, and from which "
    "layer on?",
)
with layout.box():
    show()
