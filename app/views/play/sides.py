"""Left to right, or both sides: what a model guesses that has read only the words before the gap, beside BERT."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from app.shared.model import model_bar, models
from app.shared.model.bundled import DEFAULT_MODEL, LEFT_TO_RIGHT
from app.shared.page import layout
from app.shared.page.cell import Cell, Name
from app.shared.page.exports import exports
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

NEAR = 12  # words to either side of the gap
LEFT, BOTH = "From the left alone", "From both sides"
SAME = "**{}** is **{}** with an adapter that learned, on the same text, to predict the next word from those before it."


def show(asked: Sequence[Question], both: Sequence[Version], encoded: Encoded) -> None:
    bert = asked[0].loaded
    if bert.source not in LEFT_TO_RIGHT:
        offer_pair(bert)
        return
    reader = models.open_model("fill", LEFT_TO_RIGHT[bert.source])
    assert reader is not None  # a bundled one
    gaps = [one_gap(bert.tokenizer, version.text) for version in both]
    left = [models.compute(fill_from_left, reader, version.text, GUESSES, reader.limit) for version in both]
    right = [guesses.asked(bert, version).fill for version in both]
    st.markdown(f"From the left alone, {change(left)}. From both sides, {change(right)}.")
    for gap, fill in layout.in_columns(list(zip(gaps, left, strict=True))):
        with st.container(border=True, gap="xsmall"):
            st.markdown(reading(*gap))
            st.subheader(guesses.headline(fill), anchor=False)
            layout.show_chart(fill_bars(fill), in_words(fill))
    st.caption(SAME.format(reader.name, bert.name))
    read = [version.text for version in both]
    names = [f"{name}: {text}" for name in (LEFT, BOTH) for text in read]
    title = f"guesses of {reader.name} and {bert.name}"
    fills = dict(zip(names, [*left, *right], strict=True))
    cell = Cell()
    made = [cell.made(f"left_{n}", fill_from_left, reader, text, GUESSES, reader.limit) for n, text in enumerate(read)]
    for number, version in enumerate(both):
        guess = cell.made(f"both_{number}", guess_words, bert, *guesses.asked_of(bert, version))
        made.append(Name(f"{guess}.fill"))
    code = cell.picture(titled_panels, dict(zip(names, made, strict=True)), title)
    exports("left-to-right", guess_table(fills), code, titled_panels(fills, title))


def offer_pair(bert: models.Loaded) -> None:
    """Lead to the models that learned the same texts, one from the left alone and one from both sides."""

    def use() -> None:
        model_bar.use(DEFAULT_MODEL)
        st.session_state.update(texts.of(DEFAULT_MODEL).play["walked in, began to read"])

    with st.container(horizontal=True, vertical_alignment="center"):
        name = models.readable(bert.name)
        text = f"No model at hand learned what **{name}** did from the left alone. Real English has such a pair."
        st.markdown(text, width="content")
        st.button(f"Use {DEFAULT_MODEL}", icon=":material/translate:", on_click=use)


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
