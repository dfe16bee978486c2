"""The page that each station of the followed word leads to, with the same text, masked word and model."""

from urllib.parse import urlencode

import streamlit as st

from app.explore import PAGES
from app.shared.model import models
from bertlab.draw.html.word import Link
from bertlab.explain.words.follow import FollowedWord


def of_stations(word: FollowedWord) -> list[Link]:
    """Return address and name of a page for each station; none if the address cannot contain text or model."""
    if st.session_state.not_in_link or models.upload_name(models.chosen()):
        return []
    layers = [of_layer(word, layer) for layer in range(len(word.attention))]
    text = st.session_state.text.replace("\n", " ")
    return [
        link("masking", "Whole text", masking_tab="Whole text"),
        link("embeddings", "this text among others", embeddings_yours=text),
        *layers,
        link("masking", "Layer by layer", masking_tab="Layer by layer"),
        link("masking", "Fill in", masking_tab="Fill in"),
    ]


def of_layer(word: FollowedWord, layer: int) -> Link:
    """Return the link to the head that gives one token the most of its attention."""
    head = int(word.attention[layer].max(-1).values.argmax())  # (A, S) -> (A,)
    return link("attention", f"head {head + 1} of layer {layer + 1}", head=f"{layer + 1}-{head + 1}")


def link(page: str, view: str, **choices: str) -> Link:
    return f"{page}?{urlencode(st.query_params.to_dict() | choices)}", f"{PAGES[page][0]}: {view}"
