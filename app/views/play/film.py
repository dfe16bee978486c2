"""Through the layers: the whole BERT as one moving picture, from the pieces of the sentence to the guess."""

from collections.abc import Sequence
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from app.explore import FIRST, PAGES
from app.shared.model import models
from app.shared.page.cell import Cell
from app.shared.page.exports import exports
from app.shared.text import mask
from app.views.play.gap import Question, Version
from bertlab.draw.charts.attention import followed_heatmap, followed_table
from bertlab.draw.html.word import Link, pack, word_component, word_widget
from bertlab.explain.text import Encoded
from bertlab.explain.words.follow import FollowedWord, follow_word

KEY = "film"
KEPT = ("model", "folder", "step", "versus", "gap")  # choices in the link that the other pages have too


def show(asked: Sequence[Question], both: Sequence[Version], encoded: Encoded) -> None:
    for number, question in enumerate(asked):
        if number:
            st.markdown(f"**{models.readable(question.loaded.name)}**")
        own = not number and question.version == both[0]  # `encoded` is the first version, as the first model reads it
        show_film(question.loaded, question.version, question.key, encoded if own else None)


def show_film(loaded: models.Loaded, version: Version, key: str, encoded: Encoded | None) -> None:
    """Show how a model comes to its guess; where `encoded` is given, a press on a word of it hides that one too."""
    word = followed(loaded, version)
    control = None if loaded.random else followed(models.control_of(loaded), version)
    pages = [] if key else links_of(word, version.text)
    data = pack(word, loaded.name, control, version.truth, pages, choose=encoded is not None)
    word_component(data, f"{KEY}{key}", partial(hide, encoded) if encoded else None)
    if not key and not pages:
        st.caption("No address can contain this text or model, so the stations lead nowhere. The bar on the left does.")
    cell = Cell()
    made, random = cell.both(follow_word, loaded, *asked_of(loaded, version))
    code = cell.picture(word_widget, made, loaded.name, random, version.truth)
    exports(f"film{key}", followed_table(word), code, followed_heatmap(word))


def followed(loaded: models.Loaded, version: Version) -> FollowedWord:
    return models.compute(follow_word, loaded, *asked_of(loaded, version))


def asked_of(loaded: models.Loaded, version: Version) -> tuple:
    """Return the arguments of follow_word."""
    return version.text, None, (), version.gap, loaded.limit


def hide(encoded: Encoded) -> None:
    """Hide the word that was pressed, beside a typed [MASK], and guess it."""
    position = (st.session_state[KEY].get("view") or {}).get("follow")
    if position in mask.words(encoded):
        masked = sorted({position, *mask.typed_masks(encoded)})
        st.session_state[mask.masked_key(encoded)] = masked
        st.session_state[mask.gap_key(encoded, masked)] = masked.index(position)


def links_of(word: FollowedWord, text: str) -> list[Link]:
    """Return address and name of the page that each station leads to, with the same text, masked word and model; none
    if the address cannot contain text or model."""
    if st.session_state.not_in_link or models.upload_name(models.chosen()):
        return []
    heads = [
        1 + int(weights.max(-1).values.argmax()) for weights in word.attention
    ]  # (A, S) -> (A,): one token's share
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


def behind(view: str) -> Link:
    """Return this page with another view on request."""
    return f"?{urlencode(st.query_params.to_dict() | {'play_view': view})}", f"{PAGES[FIRST][0]}: {view}"


def link(page: str, view: str, **choices: str) -> Link:
    kept = {key: value for key, value in st.query_params.to_dict().items() if key in KEPT}
    return f"{page}?{urlencode(kept | choices)}", f"{PAGES[page][0]}: {view}"
