"""The three views of bertviz, a well-known viewer, with everything they need inside the page."""

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.exports import Cell, exports
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
    config = loaded.model.config
    every_head = bertviz.most_tokens(config.num_hidden_layers, config.num_attention_heads)
    most = {"heads": bertviz.LONGEST, "model": every_head, "neurons": bertviz.LONGEST_NEURONS}[view]
    found = models.compute(reading, loaded, text, pair, min(loaded.limit, most))
    maps: AttentionMaps = found.maps if view == "neurons" else found
    layer, head = strongest_link(maps)  # it opens with this one, and its own lists choose others
    views: dict[str, tuple] = {
        "heads": (bertviz.head_view, (layer, [head])),
        "model": (bertviz.model_view, ()),
        "neurons": (bertviz.neuron_view, (layer, head)),
    }
    draw, chosen = views[view]
    html = draw(found, *chosen, dark=st.context.theme.type == "dark")
    layout.notices(loaded.name, maps.dropped, maps.unknown, len(maps.tokens))
    st.iframe(html, alt=f"bertviz, {view} view of {loaded.name}")
    cell = Cell()
    made = cell.call(draw, cell.made("found", reading, loaded, text, pair, len(maps.tokens)), *chosen)
    shown = maps.tokens, maps.weights[layer, head]  # (L, A, S, S) -> (S, S)
    name = f"bertviz-layer{layer + 1}-head{head + 1}"
    exports(name, attention_table(*shown), cell.html(made), attention_heatmap(*shown), page=html)
