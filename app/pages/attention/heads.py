"""All heads on one canvas, and where in the model which role is played."""

import pandas as pd
import streamlit as st

from app.pages.attention import cells
from app.shared import models, state
from app.shared.exports import exports
from bertlab.draw.charts import base as charts
from bertlab.draw.charts.roles import control_maps, role_maps, role_table, trained_maps
from bertlab.draw.html.canvas import ModelHeads, attention_component
from bertlab.explain.attention.heads import head_roles
from bertlab.explain.attention.maps import AttentionMaps, attention_maps

KEY = "heads"
# What the link calls a choice on the canvas -> the canvas's own name and value of it.
CHOICES = {
    "arcs": ("arcs", True),
    "control": ("control", True),
    "own": ("scale", "head"),
    "rows": ("scale", "row"),
    "words": ("specials", False),
}

HEAD_START = (
    " This model did not begin with random weights alone: its recipe gave it positions as sine waves, and lower heads "
    "that look for what is alike. So a pattern that the control lacks may have been there from the start: choose "
    "step 0 of its training to see."
)


def show(loaded: models.Loaded, text: str, pair: str | None) -> None:
    heads, other = heads_of(loaded, text, pair), models.beside("encoder")
    state.notices(heads.maps.dropped, heads.maps.unknown, len(heads.maps.tokens))
    both = [heads] + ([heads_of(other, text, pair)] if other else [])
    view = attention_component(both, KEY, first_view())
    st.session_state.attention_seen = view
    keep_in_link(view)
    st.caption(
        "Attention is not explanation: a weight says how much of a token's vector a head mixes in, not why "
        "the model answers as it does. Look at the random-weights control before you read meaning "
        "into a pattern." + (HEAD_START if models.head_start(loaded.source) else "")
    )
    export_head(loaded, other, heads, view, text, pair)
    if heads.control is not None:
        show_roles(loaded, heads, text, pair)


def heads_of(loaded: models.Loaded, text: str, pair: str | None) -> ModelHeads:
    """One model's attention, and that of its like with random weights unless it has such itself."""
    maps = models.compute(attention_maps, loaded, text, pair, loaded.limit)
    if loaded.random:
        return ModelHeads(loaded.name, maps)
    return ModelHeads(
        loaded.name, maps, models.compute(attention_maps, models.control_of(loaded), text, pair, loaded.limit)
    )


def first_view() -> dict:
    """What a new canvas shows first: what was looked at before, or what the link names.

    It stays as it is while the canvas is there, so that the weights are sent only once.
    """
    if KEY not in st.session_state or "attention_view" not in st.session_state:
        st.session_state.attention_view = st.session_state.get("attention_seen") or linked_view()
    return st.session_state.attention_view


def linked_view() -> dict:
    layer, _, head = (state.link_value("head") or "").partition("-")
    numbers = layer.isdecimal() and head.isdecimal()
    view = {"layer": max(int(layer) - 1, 0), "head": max(int(head) - 1, 0)} if numbers else {}
    flags = (state.link_value("show") or "").split(",")
    return view | {"role": state.link_value("role") or ""} | dict(CHOICES[flag] for flag in flags if flag in CHOICES)


def keep_in_link(view: dict) -> None:
    state.share("head", f"{view.get('layer', 0) + 1}-{view.get('head', 0) + 1}" if view else "")
    state.share("show", ",".join(flag for flag, (name, value) in CHOICES.items() if view.get(name) == value))
    state.share("role", view.get("role", ""))


def export_head(
    loaded: models.Loaded, other: models.Loaded | None, heads: ModelHeads, view: dict, text: str, pair: str | None
) -> None:
    """The chosen head of the first model as table, files and cell."""
    shown: AttentionMaps = heads.control if view.get("control") and heads.control else heads.maps
    layer = min(view.get("layer", 0), shown.weights.shape[0] - 1)
    head = min(view.get("head", 0), shown.weights.shape[1] - 1)
    weights = shown.weights[layer, head]  # (L, A, S, S) -> (S, S)
    chosen = {"layer": layer, "head": head} | ({"role": view["role"]} if view.get("role") else {})
    chosen |= {name: value for name, value in CHOICES.values() if view.get(name) == value}
    code = cells.attention(
        loaded.source, text, pair, models.DRAWN_TOKENS, chosen, other and (other.source, other.random)
    )
    table = charts.attention_table(shown.tokens, weights)
    exports(f"attention-layer{layer + 1}-head{head + 1}", table, code, charts.attention_heatmap(shown.tokens, weights))


def show_roles(loaded: models.Loaded, heads: ModelHeads, text: str, pair: str | None) -> None:
    st.subheader("Where in the model which role is played", anchor=False)
    st.markdown(
        "One small map for each role: rows are layers, columns are heads, bright is much of the head's weight. "
        "A frame marks the heads that give the role more than half. Below is the same with random weights: "
        "what is bright there too was not learned."
    )
    roles = head_roles(heads.maps)
    table = role_table(roles, head_roles(heads.control))
    st.altair_chart(trained_maps(table), width="stretch", alt=spoken(table))
    st.altair_chart(control_maps(table), width="stretch", alt="The same maps with random weights.")
    exports("head-roles", table, cells.roles(loaded.source, text, pair, loaded.limit), role_maps(table))


def spoken(table: pd.DataFrame) -> str:
    """The maps of roles in words."""
    named = table[table["named"]].groupby("role", sort=False).size()
    counts = ", ".join(f"{role}: {count}" for role, count in named.items()) or "none"
    return f"Maps of the roles of all heads by layer. Heads that give a role more than half of their weight: {counts}."
