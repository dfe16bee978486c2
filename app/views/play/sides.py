"""Left to right, or both sides: what a model guesses that has read only the words before the gap, beside BERT."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app.shared.model import model_bar, models
from app.shared.model.bundled import DEFAULT_MODEL, LEFT_TO_RIGHT
from app.shared.page import layout
from app.shared.page.exports import Cell, Name, exports
from app.shared.page.markdown import plain
from app.shared.text import texts
from app.views.play import guesses
from app.views.play.gap import Question, Version
from app.views.play.guesses import GUESSES, first, guess_table, in_words, outcome
from bertlab.draw.charts.masking import fill_bars, titled_panels
from bertlab.explain.text import Encoded
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.from_left import fill_from_left, one_gap
from bertlab.explain.words.guess import guess_words

PAIR = "walked in, began to read"  # an example
NEAR = 12  # words to either side of the gap
LEFT, BOTH = "From the left alone", "From both sides"
SAME = "**{}** is **{}** with an adapter that learned, on the same text, to predict the next word from those before it."


def show(asked: Sequence[Question], both: Sequence[Version], encoded: Encoded) -> None:
    bert = asked[0].loaded
    if bert.source not in LEFT_TO_RIGHT:
        name = models.readable(bert.name)
        lead_to_pair(f"No model at hand learned what **{name}** did from the left alone. Real English has such a pair.")
        return
    reader = models.open_model("fill", LEFT_TO_RIGHT[bert.source])
    assert reader is not None  # a bundled one
    gaps = [one_gap(bert.tokenizer, version.text) for version in both]
    left = [models.compute(fill_from_left, reader, version.text, GUESSES, reader.limit) for version in both]
    right = [guesses.asked(bert, version).fill for version in both]
    st.markdown(f"From the left alone, {change(left)}. From both sides, {change(right)}.")
    if len({before for before, _ in gaps}) > 1:
        lead_to_pair("Here the words *before* the gap differ, which both models read.")
    for gap, fill in layout.in_columns(list(zip(gaps, left, strict=True))):
        with st.container(border=True, gap="xsmall"):
            st.markdown(reading(*gap))
            st.subheader(guesses.headline(fill), anchor=False)
            layout.show_chart(fill_bars(fill), in_words(fill))
    st.caption(SAME.format(reader.name, bert.name))
    export(bert, reader, both, [*left, *right])


def export(bert: models.Loaded, reader: models.Loaded, both: Sequence[Version], fills: Sequence[Fill]) -> None:
    """Offer the guesses from the left alone, and then those from both sides, as table, files and cell."""
    names = [f"{name}: {version.text}" for name in (LEFT, BOTH) for version in both]
    cell, made = Cell(), []
    for n, version in enumerate(both):
        made.append(cell.made(f"left_{n}", fill_from_left, reader, version.text, GUESSES, reader.limit))
    for n, version in enumerate(both):
        guess = cell.made(f"both_{n}", guess_words, bert, *guesses.asked_of(bert, version))
        made.append(Name(f"{guess}.fill"))
    title, drawn = f"guesses of {reader.name} and {bert.name}", dict(zip(names, fills, strict=True))
    code = cell.picture(titled_panels, dict(zip(names, made, strict=True)), title)
    exports("left-to-right", guess_table(drawn), code, titled_panels(drawn, title))


def lead_to_pair(why: str) -> None:
    """Say `why`, and offer two versions that differ behind the gap, for the models that learned the same texts, one
    from the left alone and one from both sides."""

    def use() -> None:
        model_bar.use(DEFAULT_MODEL)
        st.session_state.update(texts.of(DEFAULT_MODEL).play[PAIR])

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(why, width="content")
        st.button(f"Use {DEFAULT_MODEL}: {PAIR}", icon=":material/translate:", on_click=use)


def reading(before: str, after: str) -> str:
    """Return the words around a gap for Markdown, those behind it, which are not read, crossed out."""
    start, end = before.split(), after.split()
    left = f"{'… ' * (len(start) > NEAR)}{plain(' '.join(start[-NEAR:]))}"
    right = f"{plain(' '.join(end[:NEAR]))}{' …' * (len(end) > NEAR)}"
    return f"{left} **▢** {f':gray[~~{right}~~]' if right else ''}"


def change(fills: Sequence[Fill]) -> str:
    """Say how the guesses in two versions differ, or the guess in a single one, for the middle of a sentence."""
    one, two = fills[0], fills[-1]
    if len(fills) == 1:
        return f"the first guess is {first(one)}"
    if one.tokens == two.tokens and np.allclose(one.probabilities, two.probabilities):
        return f"all guesses are **exactly the same** in both versions, {first(one)} first"
    return outcome(one, two)
