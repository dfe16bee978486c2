"""The page that each station of the followed word leads to, with the same text, masked word and model."""

from urllib.parse import urlencode

import streamlit as st

from app.explore import FIRST, PAGES
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
        behind("Whole text"),
        link("meaning", "this text among others", meaning_yours=text.replace("\n", " ")),
        *layers,
        behind("Layer by layer"),
        behind("Why this word?"),
    ]


def most_attentive(word: FollowedWord, layer: int) -> int:
    """Return the head, counted from 1, that gives one token the most of its attention."""
    return 1 + int(word.attention[layer].max(-1).values.argmax())  # (A, S) -> (A,)


def behind(view: str) -> Link:
    """Return this page with another view on request."""
    choices = {**st.query_params.to_dict(), "play_view": view}
    return f"?{urlencode(choices)}", f"{PAGES[FIRST][0]}: {view}"


def link(page: str, view: str, **choices: str) -> Link:
    kept = {key: value for key, value in st.query_params.to_dict().items() if key in KEPT}
    return f"{page}?{urlencode(kept | choices)}", f"{PAGES[page][0]}: {view}"
