"""Maps of what each head is worth to an answer, and the choice of heads that are switched off."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from app.shared import models, progress, state
from app.shared.state import plain
from bertlab.draw.charts.knockout import CELL, Rows, knockout_map, largest
from bertlab.explain.attention.knockout import Head


def rows(function: Callable, loaded: models.Loaded, *arguments) -> Rows:
    """The changes that function(model, tokenizer, *arguments) yields layer by layer, drawn as they come."""
    layers = loaded.model.config.num_hidden_layers

    def draw(so_far: Rows) -> None:
        chart = knockout_map(so_far, largest(so_far), layers)
        st.altair_chart(chart, width="stretch", alt=f"What {len(so_far)} of {layers} layers of heads are worth")

    return progress.rows(function, loaded, *arguments, total=layers, draw=draw)


def show(key: str, maps: Mapping[str, Rows], loaded: models.Loaded) -> tuple[Head, ...]:
    """The maps side by side on one scale; in the first, which is that of `loaded`, a click switches a head off or on.

    Returns the heads that are off. `key` tells the maps of several pages apart, in the link too.
    """
    st.caption("Press a cell to switch that head off, and again to switch it on. All maps have one scale.")
    shown, scale = st.container(), largest(*maps.values())
    first, *others = maps.items()
    off = choose(key, loaded, first[1])
    columns = shown.columns(len(maps), gap="large")
    with columns[0]:
        st.markdown(f"**{plain(first[0])}**")
        chart = knockout_map(first[1], scale, loaded.model.config.num_hidden_layers, off, clickable=True)
        press = partial(pressed, key)
        if clicks(key) not in st.session_state:
            st.session_state.pop(f"{key} seen", None)
        st.altair_chart(
            chart, width="stretch", key=clicks(key), on_select=press, selection_mode=CELL, alt=spoken(*first)
        )
    for column, (name, changes) in zip(columns[1:], others, strict=True):
        with column:
            st.markdown(f"**{plain(name)}**")
            chart = knockout_map(changes, scale)
            st.altair_chart(chart, width="stretch", alt=spoken(name, changes))
    return off


def choose(key: str, loaded: models.Loaded, changes: Rows) -> tuple[Head, ...]:
    """The field that lists the heads that are off: to begin with the one whose loss is the greatest."""
    config = loaded.model.config
    heads = [written((i, j)) for i in range(config.num_hidden_layers) for j in range(config.num_attention_heads)]
    if key in st.session_state:
        st.session_state[key] = [head for head in st.session_state[key] if head in heads]
    elif key not in st.query_params:
        none = state.link_value(f"{key}_none")
        st.session_state[key] = [] if none else [written(most_needed(changes))]
    chosen = st.multiselect(
        "Heads that are off, together (layer-head)",
        heads,
        key=key,
        bind="query-params",
        persist_state="session",
        placeholder="None: press a cell of the map, or choose here",
    )
    state.share(f"{key}_none", "" if chosen else "yes")  # an empty field leaves nothing in the link
    return tuple(tuple(int(number) - 1 for number in head.split("-")) for head in chosen)


def clicks(key: str) -> str:
    return f"{key} map"


def pressed(key: str) -> None:
    """Switch the heads whose cells were pressed. The chart tells all cells that were pressed an odd number of times."""
    now = {f"{cell['layer']}-{cell['head']}" for cell in st.session_state[clicks(key)].selection.get(CELL, [])}
    flipped = now ^ st.session_state.get(f"{key} seen", set())
    st.session_state[f"{key} seen"] = now
    st.session_state[key] = sorted(flipped ^ set(st.session_state[key]))


def most_needed(changes: Rows) -> Head:
    """The head without which the most is lost."""
    return min(((i, j) for i, row in enumerate(changes) for j in range(len(row))), key=lambda at: changes[at[0]][at[1]])


def written(head: Head) -> str:
    return f"{head[0] + 1}-{head[1] + 1}"


def named(heads: Sequence[Head]) -> str:
    """Heads in words."""
    return " and ".join(f"layer {layer + 1}, head {head + 1}" for layer, head in heads)


def story(name: str, changes: Rows, control: Rows) -> str:
    """In words which head an answer hangs on, and whether random weights show as much."""
    layer, head = most_needed(changes)
    loss = -changes[layer][head]
    if loss < 0.01:
        return f"No head alone matters to {name}: whichever is off, the others make up for it."
    return (
        f"{name} hangs most on **{named([(layer, head)])}**: without it, its ln p falls by **{loss:.2f}** nats, its "
        f"p to {share(loss)} of what it was. With random weights no head changes it by more than "
        f"{largest(control):.2f}."
    )


def share(loss: float) -> str:
    """exp(-loss) in words."""
    if loss < 3:
        return f"{math.exp(-loss):.0%}"
    return f"1/{math.exp(loss):,.0f}" if loss < 7 else "less than a thousandth"


def spoken(name: str, changes: Rows) -> str:
    layer, head = most_needed(changes)
    return (
        f"Map of heads of {name}: the greatest loss, {changes[layer][head]:+.2f} nats, is at {named([(layer, head)])}"
    )
