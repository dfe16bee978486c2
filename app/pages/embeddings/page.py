"""[CLS] embeddings: one point a text, layer by layer, and where labels come apart."""

import streamlit as st

from app.pages.embeddings import clouds as embeddings_clouds
from app.pages.embeddings import measures as embeddings_measures
from app.pages.embeddings import neighbours as embeddings_neighbours
from app.pages.embeddings import picture as embeddings_picture
from app.pages.embeddings import sets as embeddings_sets
from app.shared import models, state


def show() -> None:
    texts = embeddings_sets.choose()
    if st.session_state.get("embeddings_file"):
        state.unlinked("file")
    if texts is None:
        return
    loaded = models.model_for("encoder")
    look = embeddings_clouds.look(loaded)
    embeddings_clouds.say_what_is_missing(loaded, texts)
    clouds = embeddings_clouds.clouds(loaded, texts, look)
    measured = None  # as long as the reader stops it
    with state.box():
        measured = [embeddings_clouds.measures(cloud) for cloud in clouds]
    with state.box():
        embeddings_picture.show(clouds, measured)
    with state.box():
        embeddings_neighbours.show(clouds)
    if measured:
        with state.box():
            embeddings_measures.show(clouds, measured)


state.heading(
    "[CLS] embeddings",
    "The [CLS] token stands before every text, and its vector is what a classifier reads. Each point is the vector "
    "of one text. Texts that the model takes to be alike lie together: does it see what the labels say, and at which "
    "layer?",
)
with state.box():
    show()
