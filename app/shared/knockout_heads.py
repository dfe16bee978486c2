"""Maps of what each head contributes to an output, and the choice of heads that are switched off."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, progress, state
from app.shared.page.cell import Cell
from app.shared.page.exports import exports
from app.shared.page.markdown import explained, plain
from bertlab.draw.charts.knockout import CELL, Rows, knockout_map, knockout_maps, knockout_table, largest
from bertlab.draw.percent import percent
from bertlab.explain.attention.knockout import Head

Output = TypeVar("Output")
HOW = (
    "A cell shows how ln p changes when that head alone is off: **orange** means less probable without the head, "
    "**blue** more probable. Press a cell to switch its head off or on."
)
ALL_ON = "All heads are on. Press a cell of the map to switch that head off."


def show(
    key: str, name: str, function: Callable, asked: Mapping[str, tuple], output: str, without: Callable, note: str = ""
) -> None:
    """Show on which heads an output depends, for each model in `asked`, of which the last has random weights.

    `function` yields the changes; `without` shows what becomes of the output without the heads that are off. `key`
    tells the maps of several pages apart, in the link too, `name` their files. `note` is a caption.
    """
    maps = {model: rows(function, *each) for model, each in asked.items()}
    first, *_, control = maps.values()
    st.markdown(story(f"“{plain(output)}”", first, control))
    st.caption(f"{HOW} {note}", help=explained(HOW + "nats"))
    (loaded, *_), *_ = asked.values()
    off = show_maps(key, maps, loaded)
    if off:
        without(off)
    else:
        st.markdown(ALL_ON)
    cell = Cell()
    code = cell.picture(knockout_maps, cell.each(function, asked, rows=True), off)
    exports(name, knockout_table(maps), code, knockout_maps(maps, off))


def rows(function: Callable[..., Iterator[list[float]]], loaded: models.Loaded, *arguments) -> Rows:
    """Return the changes that function(model, tokenizer, *arguments) yields layer by layer; draw them as they come."""
    layers = loaded.model.config.num_hidden_layers

    def draw(so_far: Rows) -> None:
        chart = knockout_map(so_far, largest(so_far), layers)
        layout.show_chart(chart, f"Changes without each head, {len(so_far)} of {layers} layers")

    return progress.rows(function, loaded, *arguments, total=layers, draw=draw)


def show_maps(key: str, maps: Mapping[str, Rows], loaded: models.Loaded) -> tuple[Head, ...]:
    """Show the maps side by side on one scale; a click in the first, that of `loaded`, switches a head off or on.

    Returns the heads that are off.
    """
    place, scale = st.container(), largest(*maps.values())
    off = choose(key, loaded, next(iter(maps.values())))
    if clicks(key) not in st.session_state:
        st.session_state.pop(f"{key} seen", None)
    drawn: dict = {"layers": loaded.model.config.num_hidden_layers, "off": off, "clickable": True}
    pressed: dict = {"key": clicks(key), "on_select": partial(switch, key), "selection_mode": CELL}
    with place:
        for name, changes in layout.in_columns(maps.items(), "large"):
            worst = most_needed(changes)
            loss = f"The greatest loss, {changes[worst[0]][worst[1]]:+.2f} nats, is at {named([worst])}"
            st.markdown(f"**{plain(name)}**")
            layout.show_chart(knockout_map(changes, scale, **drawn), f"Map of the heads of {name}. {loss}", **pressed)
            drawn, pressed = {"with_key": False}, {}  # the other maps cannot be pressed
    return off


def choose(key: str, loaded: models.Loaded, changes: Rows) -> tuple[Head, ...]:
    """Show the field that lists the heads that are off: at first the one whose loss hurts most."""
    config = loaded.model.config
    heads = [written((i, j)) for i in range(config.num_hidden_layers) for j in range(config.num_attention_heads)]
    if key in st.session_state:
        st.session_state[key] = [head for head in st.session_state[key] if head in heads]
    elif key not in st.query_params:
        none = state.link_value(f"{key}_none")
        st.session_state[key] = [] if none else [written(most_needed(changes))]
        st.query_params[key] = st.session_state[key]  # where Back finds it: without, Back would switch all heads on
    chosen = st.multiselect(
        "Heads that are off together (layer-head)",
        heads,
        key=key,
        bind="query-params",
        persist_state="session",
        placeholder="None: press a cell of the map, or choose here",
    )
    state.share(f"{key}_none", "" if chosen else "yes")  # an empty field leaves nothing in the link
    return tuple((int(layer) - 1, int(number) - 1) for layer, _, number in (head.partition("-") for head in chosen))


def clicks(key: str) -> str:
    return f"{key} map"


def switch(key: str) -> None:
    """Switch the heads whose cells were pressed. The chart reports the cells pressed an odd number of times."""
    now = {f"{cell['layer']}-{cell['head']}" for cell in st.session_state[clicks(key)].selection.get(CELL, [])}
    flipped = now ^ st.session_state.get(f"{key} seen", set())
    st.session_state[f"{key} seen"] = now
    st.session_state[key] = sorted(flipped ^ set(st.session_state[key]))


def most_needed(changes: Rows) -> Head:
    """Return the head without which the most is lost."""
    return min(((i, j) for i, row in enumerate(changes) for j in range(len(row))), key=lambda at: changes[at[0]][at[1]])


def written(head: Head) -> str:
    return f"{head[0] + 1}-{head[1] + 1}"


def named(heads: Sequence[Head]) -> str:
    """Name heads in words."""
    return " and ".join(f"layer {layer + 1}, head {head + 1}" for layer, head in heads)


def before_and_after(before: Output, after: Output, off: Sequence[Head]) -> Iterator[tuple[Output, str]]:
    """Yield an output with all heads on and one without those that are off, each in a column under its title."""
    for output, title in layout.in_columns([(before, "With all heads"), (after, f"Without {named(off)}")], "large"):
        st.markdown(f"**{title}**")
        yield output, title


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
