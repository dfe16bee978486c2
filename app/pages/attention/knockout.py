"""Switch heads off: what the model then writes in a gap, and which head its word hangs on."""

import streamlit as st

from app.pages.attention import gap as attention_gap
from app.pages.attention import knockout_cells as cells
from app.pages.attention.gap import Followed
from app.shared import knockout_heads, models, state
from app.shared.exports import exports
from bertlab.draw.charts import base as charts
from bertlab.draw.charts.knockout import knockout_maps, knockout_table
from bertlab.explain.attention.knockout import FillWithout, Head, fill_knockouts, fill_without

GUESSES = 6


def show(loaded: models.Loaded, text: str, pair: str | None) -> None:
    st.markdown(
        "Attention shows where a head *looks*. To see what it is *good for*, take it away: its output is set to zero, "
        "and the model guesses again. The number in a cell is the change in ln p of the word when that head alone is "
        "off: **orange**, the word loses; **blue**, it gains."
    )
    followed = attention_gap.choose(loaded, text, pair)
    if followed is None:
        return
    maps = {
        ask.loaded.name: knockout_heads.rows(fill_knockouts, ask.loaded, *followed.question(ask), ask.loaded.limit)
        for ask in followed.asks
    }
    if not all(maps.values()):  # stopped before the first layer
        return
    off = knockout_heads.show("off", maps, loaded)
    first, *_, last = maps.values()
    word = f"“{state.plain(followed.word)}”"
    st.markdown(knockout_heads.story(word, first, last))
    show_without(loaded, followed, off)
    code = cells.fill(followed.asks[:-1], followed.gap, followed.word, off)
    exports("knockout", knockout_table(maps), code, knockout_maps(maps, off))


def show_without(loaded: models.Loaded, followed: Followed, off: tuple[Head, ...]) -> None:
    question = followed.question(followed.asks[0])
    found = models.compute(fill_without, loaded, *question, off, GUESSES, loaded.limit)
    st.subheader(f"What it writes without {'these heads' if len(off) > 1 else 'this head'}", anchor=False)
    st.markdown(followed.surroundings)
    columns = st.columns(2, gap="large")
    for column, fill, title in zip(
        columns, (found.before, found.after), ("With all heads", "With heads off"), strict=True
    ):
        with column:
            st.markdown(
                f"**{title if title != 'With heads off' or not off else 'Without ' + knockout_heads.named(off)}**"
            )
            bars = charts.fill_bars(fill, followed.word)
            alt = f"{title}, the likeliest words are {', '.join(fill.tokens[:3])}"
            st.altair_chart(bars, width="stretch", alt=alt)
    st.markdown(outcome(followed.word, found, off))


def outcome(word: str, found: FillWithout, off: tuple[Head, ...]) -> str:
    """What switching off did, in a sentence."""
    if not off:
        return "All heads are on: press a cell of the map to switch that head off."
    before, after = found.before.tokens[0], found.after.tokens[0]
    first = f"The first guess stays “{state.plain(after)}”."
    if before != after:
        first = f"The first guess was “{state.plain(before)}” and is now “**{state.plain(after)}**”."
    together = " Heads that are off together can matter more, or less, than the sum of each alone." * (len(off) > 1)
    return f"{first} ln p of “{state.plain(word)}” changes by **{state.signed(found.change)}** nats.{together}"
