"""Two versions of a text: what the model writes in the same gaps, and how its first guess changes."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from app.shared.page import layout
from app.shared.page.markdown import plain
from app.shared.text import versions
from app.views.masking import mask
from app.views.masking.fill_in import fills, in_words
from app.views.masking.mask import Query
from bertlab.draw.charts.masking import fill_bars
from bertlab.draw.percent import percent
from bertlab.explain.text import Encoded, encode
from bertlab.explain.words.fill import Fill

GUESSES = 5


def show(query: Query, encoded: Encoded, positions: Sequence[int], other: str) -> None:
    """Show the guesses at each gap that both versions have, side by side."""
    theirs = encode(query.loaded.tokenizer, other, query.pair, query.loaded.limit)
    place = versions.partners(encoded.tokens, theirs.tokens)
    second = replace(query, text=other, masked=tuple(place[i] for i in query.masked if i in place), key="-version")
    at = {fill.position: fill for fill in fills(second, GUESSES)} if gaps(second, theirs) else {}
    both = [(fill, at[place[fill.position]]) for fill in fills(query, GUESSES) if place.get(fill.position) in at]
    if not both:
        st.info("The other version has none of these gaps.", icon=":material/info:")
    for one, two in both:
        st.markdown(outcome(one, two))
        for column, fill, text in zip(st.columns(2, gap="large"), (one, two), (encoded, theirs), strict=True):
            with column:
                st.markdown(mask.context(text, fill.position))
                layout.show_chart(fill_bars(fill), in_words(fill))
    st.subheader("The first version", anchor=False)


def gaps(query: Query, encoded: Encoded) -> bool:
    return bool(query.masked) or "[MASK]" in encoded.tokens


def outcome(one: Fill, two: Fill) -> str:
    """Say how the first guess changes from one version to the other."""
    first, then = (f"“**{plain(fill.tokens[0])}**”" for fill in (one, two))
    p, q = (percent(fill.probabilities[0]) for fill in (one, two))
    if one.tokens[0] == two.tokens[0]:
        return f"The first guess stays {first} ({p}); in the other version its probability is {q}."
    return f"The first guess changes from {first} ({p}) to {then} ({q})."
