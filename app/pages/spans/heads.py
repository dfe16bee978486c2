"""Which head the answer hangs on: switch heads off and ask again."""

from collections.abc import Sequence

import streamlit as st

from app.pages.spans import cells
from app.pages.spans.reading import Reading, percent
from app.shared import knockout_heads, models, state
from app.shared.exports import exports
from bertlab.draw.charts.knockout import knockout_maps, knockout_table
from bertlab.draw.html.marked import shaded_passage
from bertlab.explain.attention.knockout import Head, answer_change, answer_knockouts
from bertlab.explain.spans import Answer


def show(asks: Sequence[Reading]) -> None:
    st.markdown(
        "Switch a head off, by setting its output to zero, and the model reads the passage without it. The number in a "
        "cell is the change in ln p of the answer when that head alone is off: **orange**, the answer loses; **blue**, "
        "it gains. Here p is p(start) × p(end)."
    )
    ask = asks[0]
    maps = {one.loaded.name: rows(one, one.place) for one in asks if not one.loaded.random}
    maps[models.RANDOM] = rows(ask.control, ask.place)  # not what it would answer, but what the first model does
    if not all(maps.values()):  # stopped before the first layer
        return
    st.caption(whose(asks))
    off = knockout_heads.show("span_off", maps, ask.loaded)
    first, control = maps[ask.loaded.name], maps[models.RANDOM]
    st.markdown(knockout_heads.story(f"“{state.plain(ask.said)}”", first, control))
    show_without(ask, off)
    code = cells.heads(ask.loaded, ask.question, ask.passage, off)
    exports("answer-knockout", knockout_table(maps), code, knockout_maps(maps, off))


def whose(asks: Sequence[Reading]) -> str:
    """Which answer each map is about."""
    own = [
        f"**{models.readable(ask.loaded.name)}** says “{state.plain(ask.said)}”"
        for ask in asks
        if not ask.loaded.random
    ]
    told = f"Each map is about its model's own answer: {', '.join(own)}" if len(own) > 1 else own[0]
    return f"{told}. The map of random weights is about the answer of {models.readable(asks[0].loaded.name)}."


def rows(ask: Reading, place: tuple[int, int, int]) -> list[list[float]]:
    return knockout_heads.rows(answer_knockouts, ask.loaded, ask.question, ask.passage, *place)


def show_without(ask: Reading, off: tuple[Head, ...]) -> None:
    found = ask.without(off)
    change = models.compute(answer_change, ask.loaded, ask.question, ask.passage, *ask.place, off)
    st.subheader(f"What it answers without {'these heads' if len(off) > 1 else 'this head'}", anchor=False)
    if not off:
        st.markdown("All heads are on: press a cell of the map to switch that head off.")
        return
    for column, one, title in zip(st.columns(2, gap="large"), (ask.found, found), titles(off), strict=True):
        with column:
            st.markdown(f"**{title}**")
            st.metric("Answer", state.plain(one.best.text) or "no answer", border=True)
            st.caption(f"p(start) × p(end): {percent(start_times_end(one))}")
            with st.container(border=True):
                st.html(shaded_passage(one))
    st.markdown(outcome(ask, found, change))


def start_times_end(found: Answer) -> float:
    """Of what is answered: the measure of the maps. Its probability beside all other spans is another one."""
    best = found.best
    return float(found.start_probabilities[best.start_token] * found.end_probabilities[best.end_token])


def titles(off: tuple[Head, ...]) -> tuple[str, str]:
    return "With all heads", f"Without {knockout_heads.named(off)}"


def outcome(ask: Reading, found: Answer, change: float) -> str:
    """What switching off did, in a sentence."""
    now = state.plain(found.best.text or "no answer")
    kept = found.best.text == ask.found.best.text
    first = f"The answer stays “{now}”" if kept else f"The answer is now “**{now}**”"
    return f"{first}; ln p of “{state.plain(ask.said)}” changes by **{state.signed(change)}** nats."
