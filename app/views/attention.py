"""Attention heads: all of them at once, and one in full."""

import models
import state
import streamlit as st
from cells import attention as cells
from exports import exports

from bertlab.draw import charts
from bertlab.draw.canvas import attention_component
from bertlab.explain.attention import attention_maps

EXAMPLES = {
    "a gap": {"text": state.DEFAULT_TEXT, "pair": ""},
    "no gap": {"text": state.DEFAULT_TEXT.replace("[MASK]", "tired"), "pair": ""},
    "a pair": {"text": "the man went to the store.", "pair": "he bought a gallon of milk."},
}


def first_view() -> dict:
    """What the link asks to show first; fixed for the session, so that the weights are sent only once."""
    if "attention_view" not in st.session_state:
        layer, _, head = (state.link_value("head") or "").partition("-")
        numbers = layer.isdecimal() and head.isdecimal()
        view = {"layer": max(int(layer) - 1, 0), "head": max(int(head) - 1, 0)} if numbers else {}
        flags = (state.link_value("show") or "").split(",")
        view |= {flag: True for flag in ("arcs", "own", "control") if flag in flags}
        view |= {"specials": False} if "words" in flags else {}
        st.session_state.attention_view = view
    return st.session_state.attention_view


def keep_in_link(view: dict) -> None:
    state.share("head", f"{view.get('layer', 0) + 1}-{view.get('head', 0) + 1}" if view else "")
    flags = [flag for flag in ("arcs", "own", "control") if view.get(flag)]
    state.share("show", ",".join(flags + (["words"] if view.get("specials") is False else [])))


def show_heads(loaded: models.Loaded, text: str, pair: str | None) -> None:
    maps = models.compute(attention_maps, loaded, text, pair, loaded.limit)
    state.notices(maps.dropped, maps.unknown, len(maps.tokens))
    control = models.compute(attention_maps, models.control_of(loaded), text, pair, loaded.limit)
    view = attention_component(maps, "heads", loaded.name, control, first_view())
    keep_in_link(view)
    st.caption(
        "Attention is not explanation: a weight says how much of a token's vector a head mixes in, not why "
        "the model answers as it does. Look at the random-weights control before you read meaning "
        "into a pattern."
    )
    shown = control if view.get("control") else maps
    layer = min(view.get("layer", 0), maps.weights.shape[0] - 1)
    head = min(view.get("head", 0), maps.weights.shape[1] - 1)
    weights = shown.weights[layer, head]  # (L, A, S, S) -> (S, S)
    table = charts.attention_table(maps.tokens, weights)
    code = cells.attention(loaded.name, text, pair, view)
    name = f"attention-layer{layer + 1}-head{head + 1}"
    exports(name, table, code, charts.attention_heatmap(maps.tokens, weights))


state.heading(
    "Attention heads",
    "In every layer each token gathers from the others. Each small square is one head: rows are tokens "
    "that look, columns tokens that are looked at, bright is much. Choose a head to read it in full.",
)
state.example_pills("Try", EXAMPLES)
text, pair = state.text_fields()
with state.box():
    show_heads(models.model_for("encoder"), text, pair)
