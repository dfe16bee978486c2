"""Switch heads off: what the model then writes in a gap, and on which head its word depends."""

import math
from collections.abc import Mapping, Sequence

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, progress, state
from app.shared.page.exports import Cell, exports
from app.shared.page.markdown import explained, plain
from app.views.attention import followed
from app.views.attention.followed import Followed
from bertlab.draw.charts.knockout import CELL, Rows, knockout_map, knockout_maps, knockout_table, largest
from bertlab.draw.charts.masking import fill_bars
from bertlab.draw.percent import percent, signed
from bertlab.explain.attention.knockout import FillWithout, Head, fill_knockouts, fill_without

GUESSES = 6
OFF, CLICKS, SEEN = "off", "off map", "off seen"  # the heads that are off, the cells pressed, and those read before
HOW = (
    "A cell shows how ln p changes when that head alone is off: **orange** means less probable without the head, "
    "**blue** more probable. Press a cell to switch its head off or on."
)


def show(loaded: models.Loaded, text: str, pair: str | None) -> None:
    st.container(key="intro").markdown(
        "Attention shows where a head *looks*. To see what it is *good for*, switch it off: its output is set to "
        "zero, and the model predicts again."
    )
    chosen = followed.choose(loaded, text, pair)
    asked = chosen.asked()
    maps = {name: rows(*each) for name, each in asked.items()}
    first, *_, control = maps.values()
    st.markdown(story(f"“{plain(chosen.word)}”", first, control))
    st.caption(HOW, help=explained(HOW + "nats"))
    off = show_maps(maps, loaded)
    if off:
        show_without(loaded, chosen, off)
    else:
        st.markdown("All heads are on. Press a cell of the map to switch that head off.")
    cell = Cell()
    code = cell.picture(knockout_maps, cell.each(fill_knockouts, asked, rows=True), off)
    exports("knockout", knockout_table(maps), code, knockout_maps(maps, off))


def rows(loaded: models.Loaded, *arguments) -> Rows:
    """Return the change without each head, layer by layer; draw them as they come."""
    layers = loaded.model.config.num_hidden_layers

    def draw(so_far: Rows) -> None:
        chart = knockout_map(so_far, largest(so_far), layers)
        layout.show_chart(chart, f"Changes without each head, {len(so_far)} of {layers} layers")

    return progress.rows(fill_knockouts, loaded, *arguments, total=layers, draw=draw)


def show_maps(maps: Mapping[str, Rows], loaded: models.Loaded) -> tuple[Head, ...]:
    """Show the maps side by side on one scale; a click in the first, that of `loaded`, switches a head off or on.

    Returns the heads that are off.
    """
    place, scale = st.container(), largest(*maps.values())
    off = choose(loaded, next(iter(maps.values())))
    if CLICKS not in st.session_state:
        st.session_state.pop(SEEN, None)
    drawn: dict = {"layers": loaded.model.config.num_hidden_layers, "off": off, "clickable": True}
    pressed: dict = {"key": CLICKS, "on_select": switch, "selection_mode": CELL}
    with place:
        for name, changes in layout.in_columns(maps.items(), "large"):
            worst = most_needed(changes)
            loss = f"The greatest loss, {changes[worst[0]][worst[1]]:+.2f} nats, is at {named([worst])}"
            st.markdown(f"**{plain(name)}**")
            layout.show_chart(knockout_map(changes, scale, **drawn), f"Map of the heads of {name}. {loss}", **pressed)
            drawn, pressed = {"with_key": False}, {}  # the other maps cannot be pressed
    return off


def choose(loaded: models.Loaded, changes: Rows) -> tuple[Head, ...]:
    """Show the field that lists the heads that are off: at first the one whose loss hurts most."""
    config = loaded.model.config
    heads = [written((i, j)) for i in range(config.num_hidden_layers) for j in range(config.num_attention_heads)]
    if OFF in st.session_state:
        st.session_state[OFF] = [head for head in st.session_state[OFF] if head in heads]
    elif OFF not in st.query_params:
        none = state.link_value("off_none")
        st.session_state[OFF] = [] if none else [written(most_needed(changes))]
        st.query_params[OFF] = st.session_state[OFF]  # where Back finds it: without, Back would switch all heads on
    empty = "None: press a cell of the map, or choose here"
    options = dict(key=OFF, bind="query-params", persist_state="session", placeholder=empty)
    chosen = st.multiselect("Heads that are off together (layer-head)", heads, **options)
    state.share("off_none", "" if chosen else "yes")  # an empty field leaves nothing in the link
    return tuple((int(layer) - 1, int(number) - 1) for layer, _, number in (head.partition("-") for head in chosen))


def switch() -> None:
    """Switch the heads whose cells were pressed. The chart reports the cells pressed an odd number of times."""
    now = {f"{cell['layer']}-{cell['head']}" for cell in st.session_state[CLICKS].selection.get(CELL, [])}
    flipped = now ^ st.session_state.get(SEEN, set())
    st.session_state[SEEN] = now
    st.session_state[OFF] = sorted(flipped ^ set(st.session_state[OFF]))


def most_needed(changes: Rows) -> Head:
    """Return the head without which the most is lost."""
    return min(((i, j) for i, row in enumerate(changes) for j in range(len(row))), key=lambda at: changes[at[0]][at[1]])


def written(head: Head) -> str:
    return f"{head[0] + 1}-{head[1] + 1}"


def named(heads: Sequence[Head]) -> str:
    """Name heads in words."""
    return " and ".join(f"layer {layer + 1}, head {head + 1}" for layer, head in heads)


def show_without(loaded: models.Loaded, chosen: Followed, off: tuple[Head, ...]) -> None:
    found = models.compute(fill_without, loaded, *chosen.arguments(), off, GUESSES, loaded.limit)
    both = {"With all heads": found.before, f"Without {named(off)}": found.after}
    for title, fill in layout.in_columns(both.items(), "large"):
        st.markdown(f"**{title}**")
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


def story(name: str, changes: Rows, control: Rows) -> str:
    """Say on which head an output depends most, and how large the changes are with random weights."""
    layer, head = most_needed(changes)
    loss = -changes[layer][head]
    if loss < 0.01:
        return f"No single head matters to {name}: whichever is off, the others make up for it."
    return (
        f"{name} depends most on **{named([(layer, head)])}**. Without that head ln p falls by **{loss:.2f}** nats, "
        f"so p falls to {percent(math.exp(-loss))} of its value. With random weights no head changes ln p by more than "
        f"{largest(control):.2f}."
    )
