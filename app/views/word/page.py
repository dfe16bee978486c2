"""Follow one word: the whole BERT as one moving picture, from the pieces of the text to the guess."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.exports import exports
from app.shared.text import fit, texts
from app.views.masking import mask
from app.views.word import cells, links
from bertlab.draw.charts.attention import followed_heatmap, followed_table
from bertlab.draw.html.word import pack, word_component
from bertlab.explain.text import Encoded, encode
from bertlab.explain.words.follow import FollowedWord, follow_word

KEY = "word"


def show(text: str, pair: str | None, below) -> None:
    """`below` is the place for what a reader can take along."""
    loaded, beside = models.model_for("fill"), models.beside("fill")
    encoded = encode(loaded.tokenizer, text, pair, loaded.limit)
    layout.notices(loaded.name, encoded.dropped, encoded.unknown, len(encoded.tokens))
    fit.notice("fill", loaded, text)
    masked, number = followed(encoded)
    truth = encoded.tokens[masked[number]]
    for query in mask.queries(loaded, beside, encoded, text, pair, masked):
        if beside:
            st.markdown(f"**{query.name}**")
        with layout.box():
            show_word(query, encoded, number, None if truth == "[MASK]" else truth, below)


def followed(encoded: Encoded) -> tuple[list[int], int]:
    """Return the masked positions and the number of the followed one; the last word where nothing is masked."""
    key = mask.masked_key(encoded)
    if not st.session_state[key]:
        st.session_state[key] = [last_word(encoded)]
    masked = sorted(st.session_state[key])
    number = st.session_state[mask.gap_key(encoded, masked)]
    mask.share_masked(encoded, masked)
    state.share("gap", str(number + 1) if number else "")
    return masked, number


def last_word(encoded: Encoded) -> int:
    """Return the position of the last word that is one token; of the last token if there is none."""
    tokens, positions = encoded.tokens, mask.words(encoded)
    whole = [i for i in positions if tokens[i].isalpha() and not tokens[i + 1].startswith("##")]
    return (whole or positions)[-1]


def show_word(query: mask.Query, encoded: Encoded, number: int, truth: str | None, below) -> None:
    query.check()
    word = asked(query.loaded, query, number)
    control = None if query.loaded.random else asked(models.control_of(query.loaded), query, number)
    own = not query.key  # the model beside it may cut the text into other tokens

    def follow() -> None:
        position = (st.session_state[KEY].get("view") or {}).get("follow")
        if position in mask.words(encoded):
            masked = sorted({position, *mask.typed_masks(encoded)})
            st.session_state[mask.masked_key(encoded)] = masked
            st.session_state[mask.gap_key(encoded, masked)] = masked.index(position)

    pages = links.of_stations(word) if own else []
    data = pack(word, query.loaded.name, control, truth, pages, choose=own)
    word_component(data, f"{KEY}{query.key}", follow if own else None)
    if own and not pages:
        st.caption("No address can contain this text or model, so the stations lead nowhere. The bar on the left does.")
    with below:
        exports(f"word{query.key}", followed_table(word), cells.word(query, number, truth), followed_heatmap(word))


def asked(loaded: models.Loaded, query: mask.Query, number: int) -> FollowedWord:
    return models.compute(follow_word, loaded, query.text, query.pair, query.masked, number, query.loaded.limit)


layout.heading(
    "Follow one word",
    "One masked word goes through the whole BERT. Press another word to follow that one.",
)
left, right = st.columns([3, 2], gap="medium")
examples = texts.chosen().masked
text = state.linked_text(left.text_area, "Your text", "text", state.first_texts(examples)["text"], height=68)
with right:
    state.example_pills("Try", examples, wrap=True)
picture = st.container()  # above the second text, which few need
pair = state.linked_text(st.text_area, "Second text (optional)", "pair", height=68)
below = st.container()
with picture, layout.box():
    show(text, pair.strip() or None, below)
