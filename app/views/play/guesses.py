"""The guesses of a model in one or two versions of a sentence, beside the visitor's own and those of random weights."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.shared.model import models
from app.shared.page import confidence, layout
from app.shared.page.exports import Cell, Name, exports
from app.shared.page.markdown import plain
from app.shared.text import texts
from app.views.play.gap import Question, Version
from bertlab.draw.charts.masking import fill_bars, fill_table, titled_panels
from bertlab.draw.percent import percent
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.guess import WordGuesses, guess_words

GUESSES = 5
SOME = 0.01  # a share of what is no word that is worth a line
EVERY = "Here every token counts, punctuation and pieces too, which the guesses above leave out."


def show(question: Question, both: Sequence[Version], names: Sequence[str], word: str) -> None:
    """The name of the model to compare with stands above its guesses."""
    loaded = question.loaded
    if question.key:
        st.markdown(f"**{models.readable(loaded.name)}**")
    found = [asked(loaded, version, word) for version in both]
    for number, version in enumerate(layout.in_columns(both)):
        with st.container(border=True, gap="xsmall"):
            show_card(version, found[number], f" :orange-badge[{plain(names[number])}]" if names else "")
    if names:
        say_difference(question, both, [guess.fill for guess in found])
    if not loaded.random:
        say_control(models.control_of(loaded), both)
    export(question, both, found, word)


def export(question: Question, both: Sequence[Version], found: Sequence[WordGuesses], word: str) -> None:
    """Offer the guesses as table, files and cell."""
    loaded, fills = question.loaded, {version.text: guess.with_word for version, guess in zip(both, found, strict=True)}
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


def show_card(version: Version, found: WordGuesses, badge: str) -> None:
    st.subheader(headline(found.fill) + badge, anchor=False)
    layout.show_chart(
        fill_bars(found.with_word, version.truth, {found.word} if found.rank else ()), in_words(found.fill)
    )
    if found.word:
        st.markdown(standing(found, "" if found.word == version.truth else " (pink)"))
    green = ", green" if version.truth in found.with_word.tokens else ""
    notes = [f"The hidden word{green}: {plain(version.truth)}."] if version.truth else []
    if found.no_words >= SOME:
        notes.append(f"Punctuation and pieces that only continue a word: {percent(found.no_words)} together.")
    if notes:
        st.caption(" ".join(notes))


def is_sure(fill: Fill) -> bool:
    return fill.probabilities[0] >= confidence.GAP


def headline(fill: Fill) -> str:
    word = plain(fill.tokens[0])
    if is_sure(fill):
        return word
    return f"{word}? :gray[Not sure]" if fill.probabilities[0] >= confidence.FAINT else "Not sure"


def standing(found: WordGuesses, colour: str) -> str:
    """Say where the visitor's guess stands among those of the model."""
    if not found.rank:
        above = " A sentence of your own goes into the field above." if " " in found.word else ""
        guess = f"Your guess “{plain(found.word)}” is not one word of the vocabulary"
        return f"{guess}, so the model cannot write it here.{above}"
    guess = f"Your guess **{plain(found.word)}**{colour}"
    return f"{guess}: the model's number {found.rank:,}, {percent(found.probability)}."


def say_difference(question: Question, both: Sequence[Version], fills: Sequence[Fill]) -> None:
    """Say how the answer changes, and of an example, once for two models, what that shows."""
    changed, pair = outcome(*fills), dict(zip(("text", "other"), (version.text for version in both), strict=True))
    example = not question.key and pair in texts.of(question.loaded.source).play.values()
    plainly = all(fill.probabilities[0] >= confidence.FAINT for fill in fills)
    shows = example and plainly and fills[0].tokens[0] != fills[1].tokens[0]
    st.markdown(f"{changed[:1].upper()}{changed[1:]}. {texts.NOTES.get(both[0].text, '') if shows else ''}")


def say_control(control: models.Loaded, both: Sequence[Version]) -> None:
    """Name the first guesses of the same architecture with random weights, once if they are the same."""
    fills = [asked(control, version).fill for version in both]
    words = [f"“{plain(fill.tokens[0])}” ({percent(fill.probabilities[0])})".replace(" ", "\u00a0") for fill in fills]
    same = " in both versions" if len(words) > 1 == len({*words}) else ""
    st.caption(f"Control: random weights say {' and '.join(dict.fromkeys(words))}{same}.")


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
