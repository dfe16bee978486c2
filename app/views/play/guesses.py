"""The guesses of a model in one or two versions of a sentence, beside the visitor's own and those of random weights."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.shared.model import models
from app.shared.page import confidence, layout
from app.shared.page.cell import Cell, Name
from app.shared.page.exports import exports
from app.shared.page.markdown import plain
from app.shared.text import texts
from app.views.play.gap import Question, Version
from bertlab.draw.charts.masking import fill_bars, fill_table, titled_panels
from bertlab.draw.percent import percent
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.guess import WordGuesses, guess_words

GUESSES = 5
SOME = 0.01  # a share of what is no word that is worth a line


def show(question: Question, both: Sequence[Version], names: Sequence[str], word: str) -> None:
    """The name of the model to compare with stands above its guesses."""
    loaded = question.loaded
    if question.key:
        st.markdown(f"**{models.readable(loaded.name)}**")
    found = [asked(loaded, version, word) for version in both]
    for number, version in enumerate(layout.in_columns(both)):
        with st.container(border=True, gap="xsmall"):
            show_card(loaded, version, found[number], f" :orange-badge[{plain(names[number])}]" if names else "")
    fills = {version.text: guess.with_word for version, guess in zip(both, found, strict=True)}
    if names:
        say_difference(loaded, both, list(fills.values()))
    marked, truths = {guess.word for guess in found if guess.rank}, [version.truth for version in both]
    title = f"guesses of {loaded.name}{', yours in pink' * bool(marked)}"
    cell = Cell()
    asked_each = {version.text: (loaded, *asked_of(loaded, version, word)) for version in both}
    drawn = {text: Name(f"{made}.with_word") for text, made in cell.each(guess_words, asked_each).items()}
    code = cell.picture(titled_panels, drawn, title, truths, marked)
    exports(f"guesses{question.key}", guess_table(fills), code, titled_panels(fills, title, truths, marked))


def asked(loaded: models.Loaded, version: Version, word: str = "") -> WordGuesses:
    return models.compute(guess_words, loaded, *asked_of(loaded, version, word))


def asked_of(loaded: models.Loaded, version: Version, word: str = "") -> tuple:
    """Return the arguments of guess_words."""
    return version.text, word, version.gap, GUESSES, loaded.limit


def show_card(loaded: models.Loaded, version: Version, found: WordGuesses, badge: str) -> None:
    st.subheader(headline(found.fill) + badge, anchor=False)
    bars = fill_bars(found.with_word, version.truth, {found.word} if found.rank else ())
    layout.show_chart(bars, in_words(found.fill))
    if found.word:
        st.markdown(standing(found, "" if found.word == version.truth else " (pink)"))
    notes = [hidden_word(version.truth, found.with_word)] if version.truth else []
    if found.no_words >= SOME:
        notes.append(f"Punctuation and pieces that only continue a word: {percent(found.no_words)} together.")
    if not loaded.random:
        control = asked(models.control_of(loaded), version).fill
        p = percent(control.probabilities[0]).replace(" ", "\u00a0")
        notes.append(f"Control: random weights say “{plain(control.tokens[0])}” ({p}).")
    st.caption(" ".join(notes))


def hidden_word(word: str, fill: Fill) -> str:
    """Name the word that was hidden, and its bar, if it has one."""
    return f"The hidden word{', green' if word in fill.tokens else ''}: {plain(word)}."


def is_sure(fill: Fill) -> bool:
    return fill.probabilities[0] >= confidence.GAP


def headline(fill: Fill) -> str:
    word, p = plain(fill.tokens[0]), fill.probabilities[0]
    return word if is_sure(fill) else f"{word}? :gray[Not sure]" if p >= confidence.FAINT else "Not sure"


def standing(found: WordGuesses, colour: str) -> str:
    """Say where the visitor's guess stands among those of the model."""
    if not found.rank:
        below = " A sentence of your own goes into the field below." if " " in found.word else ""
        guess = f"Your guess “{plain(found.word)}” is not one word of the vocabulary"
        return f"{guess}, so the model cannot write it here.{below}"
    return (
        f"Your guess **{plain(found.word)}**{colour}: the model's number {found.rank:,}, {percent(found.probability)}."
    )


def say_difference(loaded: models.Loaded, both: Sequence[Version], fills: Sequence[Fill]) -> None:
    """Say how the answer changes, and of an example what that shows."""
    changed, pair = outcome(*fills), dict(zip(("text", "other"), (version.text for version in both), strict=True))
    example = pair in texts.of(loaded.source).play.values() and fills[0].tokens[0] != fills[1].tokens[0]
    plainly = all(fill.probabilities[0] >= confidence.FAINT for fill in fills)
    note = texts.NOTES.get(both[0].text, "") if example and plainly else ""
    st.markdown(f"{changed[:1].upper()}{changed[1:]}. {note}")


def outcome(one: Fill, two: Fill) -> str:
    """Say how the first guess changes from one version to the other, for the middle of a sentence."""
    if one.tokens[0] != two.tokens[0]:
        return f"the first guess changes from {first(one)} to {first(two)}"
    return (
        f"the first guess stays {first(one)}; in the other version its probability is {percent(two.probabilities[0])}"
    )


def first(fill: Fill) -> str:
    word, p = plain(fill.tokens[0]), percent(fill.probabilities[0])
    return f"“**{word}**” ({p})" if is_sure(fill) else f"“{word}” (not sure: {p})"


def in_words(fill: Fill) -> str:
    best = [f"{token} {percent(p)}" for token, p in zip(fill.tokens, fill.probabilities, strict=True)]
    return f"Bars of the likeliest words: {', '.join(best)}"


def guess_table(fills: dict[str, Fill]) -> pd.DataFrame:
    """One row a guess: text, rank, token, probability."""
    tables = [fill_table([fill]).assign(text=text) for text, fill in fills.items()]
    return pd.concat(tables)[["text", "rank", "token", "probability"]]
