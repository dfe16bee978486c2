"""Through the layers: the whole BERT as one moving picture, from the pieces of the sentence to the guess."""

from collections.abc import Sequence
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from app.shared.model import models
from app.shared.page import state
from app.shared.page.exports import Cell, exports
from app.shared.text import mask
from app.views.play.gap import Question, Version
from app.views.play.guesses import EVERY
from bertlab.draw.charts.attention import followed_heatmap, followed_table
from bertlab.draw.html.word import WORD, Link, pack, word_widget
from bertlab.explain.text import Encoded
from bertlab.explain.words.follow import FollowedWord, follow_word

NOWHERE: Link = ("", "")
KEPT = (*state.MODELS, "gap")  # choices in the link that the other pages have too


def show(asked: Sequence[Question], both: Sequence[Version], encoded: Encoded) -> None:
    st.caption(EVERY)
    for number, question in enumerate(asked):
        if number:
            st.markdown(f"**{models.readable(question.loaded.name)}**")
        own = not number and question.version == both[0]  # `encoded` is the first version, as the first model reads it
        show_film(question.loaded, question.version, question.key, encoded if own else None)


def show_film(loaded: models.Loaded, version: Version, key: str, encoded: Encoded | None) -> None:
    """Show how a model comes to its guess; where `encoded` is given, a press on a word of it hides that one too."""
    asked = version.text, None, (), version.gap, loaded.limit
    word = models.compute(follow_word, loaded, *asked)
    control = None if loaded.random else models.compute(follow_word, models.control_of(loaded), *asked)
    pages = [] if key else links_of(loaded, word, version.text)
    data = pack(word, loaded.name, control, version.truth, pages, choose=encoded is not None)
    place = f"film{key} {hash(version)}"  # what was pressed in the film of another text or gap means nothing here
    WORD.show(place, data, partial(hide, encoded, place) if encoded else None)
    cell = Cell()
    made, random = cell.both(follow_word, loaded, *asked)
    code = cell.picture(word_widget, made, loaded.name, random, version.truth)
    exports(f"film{key}", followed_table(word), code, followed_heatmap(word))


def hide(encoded: Encoded, key: str) -> None:
    """Hide the word that was pressed in the film of this key, beside a typed [MASK], and guess it."""
    position = (st.session_state[key].get("view") or {}).get("follow")
    if position in mask.words(encoded):
        masked = sorted({position, *mask.typed_masks(encoded)})
        st.session_state[mask.masked_key(encoded)] = masked
        st.session_state[mask.gap_key(encoded, masked)] = masked.index(position)


def links_of(loaded: models.Loaded, word: FollowedWord, text: str) -> list[Link]:
    """Return for each layer address and name of its head that gives one token most, with the same text, masked word and
    model; none if the address cannot contain text or model."""
    if st.session_state.not_in_link or models.upload_name(models.chosen()):
        return []
    kept = {key: value for key, value in st.query_params.to_dict().items() if key in KEPT}
    if models.own("fill") is None:  # the film is of a model that stands in for the chosen one
        kept = {key: value for key, value in kept.items() if key not in ("folder", "step")} | {"model": loaded.name}
    found = [NOWHERE, NOWHERE]  # pieces and embeddings
    for layer, weights in enumerate(word.attention, 1):  # (A, S) each
        head = 1 + int(weights.max(-1).values.argmax())
        choices = kept | {"text": text, "head": f"{layer}-{head}"}
        found.append((f"attention?{urlencode(choices)}", f"Attention: head {head} of layer {layer}"))
    return found
