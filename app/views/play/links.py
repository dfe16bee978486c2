"""The page that each station of the followed word leads to, with the same text, masked word and model."""

from urllib.parse import urlencode

import streamlit as st

from app.explore import PAGES
from app.shared.model import models
from bertlab.draw.html.word import Link
from bertlab.explain.words.follow import FollowedWord

KEPT = ("model", "folder", "step", "versus", "gap")  # choices that the other pages have too


def of_stations(word: FollowedWord, text: str) -> list[Link]:
    """Return address and name of a page for each station; none if the address cannot contain text or model."""
    if st.session_state.not_in_link or models.upload_name(models.chosen()):
        return []
    heads = [most_attentive(word, layer) for layer in range(len(word.attention))]
    layers = [
        link("attention", f"head {head} of layer {layer}", text=text, head=f"{layer}-{head}")
        for layer, head in enumerate(heads, 1)
    ]
    return [
        link("masking", "Whole text", text=text, masking_tab="Whole text"),
        link("embeddings", "this text among others", embeddings_yours=text.replace("\n", " ")),
        *layers,
        link("masking", "Layer by layer", text=text, masking_tab="Layer by layer"),
        link("masking", "Fill in", text=text, masking_tab="Fill in"),
    ]


def most_attentive(word: FollowedWord, layer: int) -> int:
    """Return the head, counted from 1, that gives one token the most of its attention."""
    return 1 + int(word.attention[layer].max(-1).values.argmax())  # (A, S) -> (A,)


def link(page: str, view: str, **choices: str) -> Link:
    kept = {key: value for key, value in st.query_params.to_dict().items() if key in KEPT}
    return f"{page}?{urlencode(kept | choices)}", f"{PAGES[page][0]}: {view}"
