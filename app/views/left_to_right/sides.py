"""One gap, two models: one has read only the words before it, BERT those on both sides."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from app.shared.model import models
from app.shared.model.bundled import LEFT_TO_RIGHT, STORYWORLD
from app.shared.page import layout, state, sureness
from app.shared.page.exports import exports
from app.shared.page.markdown import plain
from app.shared.text import fit, texts
from app.views.left_to_right import cells
from bertlab.draw.charts.masking import fill_bars, fill_table, side_panels
from bertlab.draw.percent import percent
from bertlab.errors import InputError
from bertlab.explain.text import clean, encode, rare_words
from bertlab.explain.words.fill import Fill, fill_mask
from bertlab.explain.words.from_left import fill_from_left, one_gap, only_here

GUESSES = 5
NEAR = 12  # words to either side of the gap
LEFT, BOTH = "Left to right", "BERT, both sides"
NAMES = "the text", "the other version"  # in a message
SAME = (
    "Both models have the same layers and read the same stories of one small town, in as many steps. One learned to "
    "predict the next word, the other BERT's two tasks."
)


def show() -> None:
    versions = fields()
    reader, bert = (opened(name) for name in (LEFT_TO_RIGHT, STORYWORLD))
    gaps = [one_gap(bert.tokenizer, text, name) for text, name in zip(versions, NAMES, strict=False)]
    left = [models.compute(fill_from_left, reader, text, GUESSES, reader.limit) for text in versions]
    both = [models.compute(fill_mask, bert, text, None, GUESSES, (), bert.limit)[0] for text in versions]
    notices(bert, versions)
    fills = {LEFT: left, BOTH: both}
    marked = {name: only_here(each) for name, each in fills.items()}
    st.markdown(outcome(left, both))
    for number, gap in enumerate(gaps):
        show_version(gap, {name: (fills[name][number], marked[name][number]) for name in fills})
    if len(versions) > 1:
        st.caption(f"Orange: not among the first {GUESSES} guesses in the other version. {SAME}")
    code = cells.sides(reader.source, bert.source, list(fills), versions, GUESSES, bert.limit)
    exports("both-sides", guess_table(fills), code, side_panels(fills, marked))


def fields() -> list[str]:
    """Show the fields for a text and another version of it. Returns one or two different texts."""
    state.example_pills("Try", texts.SIDES)
    default = state.first_texts(texts.SIDES)
    labels = {"sides_text": "Your text, with [MASK] for one word", "sides_other": "Another version of it (optional)"}
    typed = [
        state.linked_text(column.text_area, label, key, default[key], height=68)
        for column, (key, label) in zip(st.columns(2), labels.items(), strict=True)
    ]
    text, other = map(clean, typed)
    return [text, other] if other and other != text else [text]


def opened(name: str) -> models.Loaded:
    """Return the bundled model, and name it above the page. InputError: it is not there."""
    loaded = models.open_model("fill", name)
    if loaded is None:
        raise InputError(f"{name} cannot predict words")
    models.name_model(name, compared=False)
    return loaded


def notices(bert: models.Loaded, versions: Sequence[str]) -> None:
    """Warn of words that the models cannot read, and say what they have read beside a text of the visitor's own."""
    for text in versions:
        encoded = encode(bert.tokenizer, text, None, bert.limit)
        layout.notices(bert.name, encoded.dropped, encoded.unknown, len(encoded.tokens))
    fit.say_broken(bert, max(versions, key=lambda text: rare_words(bert.tokenizer, text)[0]))
    if not {*versions} <= {text for example in texts.SIDES.values() for text in example.values()}:
        fit.say_learned("fill", bert)


def show_version(gap: tuple[str, str], guesses: dict[str, tuple[Fill, set[str]]]) -> None:
    """Show what each model reads of one version, and what it would write in the gap."""
    for column, (name, (fill, marked)) in zip(st.columns(len(guesses), gap="medium"), guesses.items(), strict=True):
        with column:
            st.markdown(f"**{name}**: {reading(*gap, unread=name == LEFT)}")
            if doubt := sureness.doubt(list(zip(fill.tokens, fill.probabilities, strict=True)), sureness.GAP):
                st.markdown(doubt)
            best = [f"{token} {percent(p)}" for token, p in zip(fill.tokens, fill.probabilities, strict=True)]
            layout.show_chart(fill_bars(fill, marked=marked), f"{name}, bars of the likeliest words: {', '.join(best)}")


def reading(before: str, after: str, unread: bool) -> str:
    """Return the words around a gap for Markdown, those behind it crossed out if they are `unread`."""
    start, end = before.split(), after.split()
    left = f"{'… ' * (len(start) > NEAR)}{plain(' '.join(start[-NEAR:]))}"
    right = f"{plain(' '.join(end[:NEAR]))}{' …' * (len(end) > NEAR)}"
    return f"{left} **▢** {f':gray[~~{right}~~]' if unread and right else right}"


def outcome(left: Sequence[Fill], both: Sequence[Fill]) -> str:
    """Say what the other version changes for each model, or for a single text what each guesses first."""
    if len(left) == 1:
        return f"From the left alone, the first guess is {first(left[0])}. From both sides it is {first(both[0])}."
    return f"From the left alone, {change(left)}. From both sides, {change(both)}."


def change(versions: Sequence[Fill]) -> str:
    """Say how the guesses in two versions differ, for the middle of a sentence."""
    one, two = versions
    if one.tokens == two.tokens and np.allclose(one.probabilities, two.probabilities):
        return f"all guesses are **exactly the same** in both versions, {first(one)} first"
    if one.tokens[0] == two.tokens[0]:
        p = percent(two.probabilities[0])
        return f"the first guess stays {first(one)}; in the other version its probability is {p}"
    return f"the first guess **changes** from {first(one)} to {first(two)}"


def first(fill: Fill) -> str:
    return f"“**{plain(fill.tokens[0])}**” ({percent(fill.probabilities[0])})"


def guess_table(fills: Mapping[str, Sequence[Fill]]) -> pd.DataFrame:
    """One row a guess: model, version, rank, token, probability."""
    tables = [
        fill_table([fill]).drop(columns="position").assign(model=name, version=number)
        for name, versions in fills.items()
        for number, fill in enumerate(versions, 1)
    ]
    return pd.concat(tables)[["model", "version", "rank", "token", "probability"]]
