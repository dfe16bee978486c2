"""Switch heads off: what the model then writes in a gap, and on which head its word depends."""

import streamlit as st

from app.shared import knockout_heads
from app.shared.model import models
from app.shared.page import layout
from app.shared.page.cell import Cell
from app.shared.page.exports import exports
from app.shared.page.markdown import plain, signed
from app.views.attention import followed
from app.views.attention.followed import Followed
from bertlab.draw.charts.knockout import knockout_maps, knockout_table
from bertlab.draw.charts.masking import fill_bars
from bertlab.explain.attention.knockout import FillWithout, Head, fill_knockouts, fill_without

GUESSES = 6


def show(loaded: models.Loaded, text: str, pair: str | None) -> None:
    st.container(key="intro").markdown(
        "Attention shows where a head *looks*. To see what it is *good for*, switch it off: its output is set to "
        "zero, and the model predicts again. A cell shows the change in ln p of the word when that head alone is off: "
        "**orange** means less probable without the head, **blue** more probable."
    )
    chosen = followed.choose(loaded, text, pair)
    if chosen is None:
        return
    asked = {
        query.loaded.name: (query.loaded, *chosen.arguments(query), query.loaded.limit) for query in chosen.queries
    }
    maps = {name: knockout_heads.rows(fill_knockouts, *each) for name, each in asked.items()}
    if not all(maps.values()):  # stopped before the first layer
        return
    off = knockout_heads.show("off", maps, loaded)
    first, *_, control = maps.values()
    st.markdown(knockout_heads.story(f"“{plain(chosen.word)}”", first, control))
    show_without(loaded, chosen, off)
    cell = Cell()
    code = cell.picture(knockout_maps, cell.each(fill_knockouts, asked, rows=True), off)
    exports("knockout", knockout_table(maps), code, knockout_maps(maps, off))


def show_without(loaded: models.Loaded, chosen: Followed, off: tuple[Head, ...]) -> None:
    asked = chosen.arguments(chosen.queries[0])
    found = models.compute(fill_without, loaded, *asked, off, GUESSES, loaded.limit)
    st.subheader(f"The prediction without {'these heads' if len(off) > 1 else 'this head'}", anchor=False)
    st.markdown(chosen.context)
    columns = st.columns(2, gap="large")
    for column, fill, title in zip(columns, (found.before, found.after), knockout_heads.titles(off), strict=True):
        with column:
            st.markdown(f"**{title}**")
            alt = f"{title}, the likeliest words are {', '.join(fill.tokens[:3])}"
            layout.show_chart(fill_bars(fill, chosen.word), alt)
    st.markdown(outcome(chosen.word, found, off))


def outcome(word: str, found: FillWithout, off: tuple[Head, ...]) -> str:
    """Say what switching the heads off changed."""
    if not off:
        return knockout_heads.ALL_ON
    before, after = found.before.tokens[0], found.after.tokens[0]
    first = f"The first guess stays “{plain(after)}”."
    if before != after:
        first = f"The first guess was “{plain(before)}” and is now “**{plain(after)}**”."
    together = " Heads that are off together can matter more, or less, than their single changes add up to."
    return f"{first} ln p of “{plain(word)}” changes by **{signed(found.change)}** nats." + together * (len(off) > 1)
