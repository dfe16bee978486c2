"""The three views of bertviz, a well-known viewer, with everything they need inside the page."""

from collections.abc import Callable

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.cell import Cell
from app.shared.page.exports import exports
from bertlab import BertConfig
from bertlab.draw.charts.attention import attention_heatmap, attention_table
from bertlab.draw.html import bertviz
from bertlab.explain.attention.heads import strongest_link
from bertlab.explain.attention.maps import AttentionMaps, attention_maps, neurons

VIEWS = {
    "heads": "Lines run from each token to the tokens it attends to; each head has a colour. Double-click a colour to "
    "see only that head. Point at a token to see only its lines.",
    "model": "All layers (down) and heads (across) at once. Click one to enlarge it.",
    "neurons": "Point at a token, then press the plus beside it. Its query meets the key of every token, number by "
    "number; the softmax of the scaled sums is the attention.",
}


def show(loaded: models.Loaded, text: str, pair: str | None) -> None:
    with st.container(horizontal=True, gap="medium"):
        view = state.one_of("View", VIEWS, "bertviz", width="content")
        # Random weights too: their patterns were not learned.
        weights = {one.name: one for one in (loaded, models.beside("encoder"), models.control_of(loaded)) if one}
        loaded = weights[st.selectbox("Weights", list(weights), key="bertviz_weights", bind="query-params", width=220)]
    st.markdown(VIEWS[view])
    reading = neurons if view == "neurons" else attention_maps
    found = models.compute(reading, loaded, text, pair, min(loaded.limit, longest(view, loaded.model.config)))
    maps: AttentionMaps = found.maps if view == "neurons" else found
    layer, head = strongest_link(maps)  # it opens with this one, and its own lists choose others
    draw, chosen = drawing(view, layer, head)
    html = draw(found, *chosen, dark=st.context.theme.type == "dark")
    layout.notices(loaded.name, maps.dropped, maps.unknown, len(maps.tokens))
    st.iframe(html, alt=f"bertviz, {view} view of {loaded.name}")
    cell = Cell()
    made = cell.call(draw, cell.made("found", reading, loaded, text, pair, len(maps.tokens)), *chosen)
    shown = maps.tokens, maps.weights[layer, head]  # (L, A, S, S) -> (S, S)
    name = f"bertviz-layer{layer + 1}-head{head + 1}"
    exports(name, attention_table(*shown), cell.html(made), attention_heatmap(*shown), page=html)


def drawing(view: str, layer: int, head: int) -> tuple[Callable, tuple]:
    """Return what draws a view, and the arguments that open it with this head."""
    if view == "model":
        return bertviz.model_view, ()
    return (bertviz.neuron_view, (layer, head)) if view == "neurons" else (bertviz.head_view, (layer, [head]))


def longest(view: str, config: BertConfig) -> int:
    """Return the most tokens that a view draws: it grows with the square of their number."""
    if view == "model":
        return bertviz.most_tokens(config.num_hidden_layers, config.num_attention_heads)
    return bertviz.LONGEST_NEURONS if view == "neurons" else bertviz.LONGEST
