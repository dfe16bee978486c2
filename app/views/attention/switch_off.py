"""Switch heads off: what the model then writes in a gap, and on which head its word depends."""

from functools import partial

import streamlit as st

from app.shared import knockout_heads
from app.shared.model import models
from app.shared.page import layout
from app.shared.page.markdown import plain, signed
from app.views.attention import followed
from app.views.attention.followed import Followed
from bertlab.draw.charts.masking import fill_bars
from bertlab.explain.attention.knockout import FillWithout, Head, fill_knockouts, fill_without

GUESSES = 6


def show(loaded: models.Loaded, text: str, pair: str | None) -> None:
    st.container(key="intro").markdown(
        "Attention shows where a head *looks*. To see what it is *good for*, switch it off: its output is set to "
        "zero, and the model predicts again."
    )
    chosen = followed.choose(loaded, text, pair)
    without = partial(show_without, loaded, chosen)
    knockout_heads.show("off", "knockout", fill_knockouts, chosen.asked(), chosen.word, without)


def show_without(loaded: models.Loaded, chosen: Followed, off: tuple[Head, ...]) -> None:
    found = models.compute(fill_without, loaded, *chosen.arguments(), off, GUESSES, loaded.limit)
    for fill, title in knockout_heads.before_and_after(found.before, found.after, off):
        alt = f"{title}, the likeliest words are {', '.join(fill.tokens[:3])}"
        layout.show_chart(fill_bars(fill, chosen.word), alt)
    st.markdown(outcome(chosen.word, found, len(off) > 1))


def outcome(word: str, found: FillWithout, several: bool) -> str:
    """Say what switching a head off changed, or `several`."""
    before, after = found.before.tokens[0], found.after.tokens[0]
    first = f"The first guess stays “{plain(after)}”."
    if before != after:
        first = f"The first guess was “{plain(before)}” and is now “**{plain(after)}**”."
    together = " Heads that are off together can matter more, or less, than their single changes add up to." * several
    return f"{first} ln p of “{plain(word)}” changes by **{signed(found.change)}** nats.{together}"
