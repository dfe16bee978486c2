"""All heads on one canvas, with the role that each plays."""

from dataclasses import replace

import streamlit as st

from app.shared.model import models
from app.shared.page import layout, state
from app.shared.page.exports import Cell, exports
from app.shared.page.markdown import plain
from app.shared.text import versions
from bertlab.draw.charts.attention import attention_heatmap, attention_table
from bertlab.draw.html.canvas import CANVAS, ModelHeads, attention_widget, pack
from bertlab.draw.percent import percent
from bertlab.explain.attention.heads import strongest_link
from bertlab.explain.attention.maps import AttentionMaps, attention_maps

# The name of a choice in the link -> the canvas's own name and value of it.
CHOICES: dict[str, tuple[str, str | bool]] = {
    "arcs": ("arcs", True),
    "control": ("control", True),
    "own": ("scale", "head"),
    "rows": ("scale", "row"),
    "words": ("specials", False),
}

PLACE = ("layer", "head")
VERSIONS = ("first version", "second version")


def show(loaded: models.Loaded, text: str, pair: str | None, version: str | None = None) -> None:
    """`version`: another version of the text, whose heads are drawn beside these."""
    heads, other = heads_of(loaded, text, pair), models.beside("encoder")
    layout.notices(loaded.name, heads.maps.dropped, heads.maps.unknown, len(heads.maps.tokens))
    drawn = [heads] + ([heads_of(other, text, pair)] if other else [])
    if version:
        both = heads, heads_of(loaded, version, pair)
        drawn = [replace(each, name=name) for each, name in zip(both, VERSIONS, strict=True)] + drawn[1:]
    place = st.container(key="intro")  # not in a story, whose visitor is to find it
    view = show_canvas(drawn)
    if version:
        place.markdown(change(shown_of(heads, view), shown_of(drawn[1], view), view))
    st.caption(
        "Attention is not explanation. A weight says how much of a token's vector a head mixes in, not why the model "
        "predicts what it does. Before you read meaning into a pattern, look at the random-weights control, and at "
        "step 0 of the training if there is one: some recipes start from more than random weights."
    )
    export_head(loaded, other, heads, view, text, pair)


def show_canvas(drawn: list[ModelHeads]) -> dict:
    """Draw all heads; until the visitor chooses one, that with the strongest link is the large one. Returns what is
    chosen."""
    first, usual = first_view(), dict(zip(PLACE, strongest_link(drawn[0].maps), strict=True))
    view = usual | first | CANVAS.show(canvas_key(), pack(drawn, usual | first))
    opening = "head" not in first and usual.items() <= view.items()  # nobody has chosen a head
    st.session_state.attention_seen = {key: value for key, value in view.items() if not opening or key not in PLACE}
    keep_in_link(view, opening)
    return view


def heads_of(loaded: models.Loaded, text: str, pair: str | None) -> ModelHeads:
    """Return the attention of a model and, unless its weights are random, that of its control."""
    maps = models.compute(attention_maps, loaded, text, pair, loaded.limit)
    if loaded.random:
        return ModelHeads(loaded.name, maps)
    control = models.compute(attention_maps, models.control_of(loaded), text, pair, loaded.limit)
    return ModelHeads(loaded.name, maps, control)


def shown_of(heads: ModelHeads, view: dict) -> AttentionMaps:
    """Return the attention that is drawn: with the switch for it that of random weights."""
    return heads.control if view.get("control") and heads.control else heads.maps


def change(one: AttentionMaps, two: AttentionMaps, view: dict) -> str:
    """Say which weight of the chosen head differs most between two versions of a text, among tokens that both have."""
    layer, head = chosen_head(one, view)
    pairs = versions.partners(one.tokens, two.tokens)
    here, there = one.weights[layer, head], two.weights[layer, head]  # (S, S) each
    i, j = max(((i, j) for i in pairs for j in pairs), key=lambda at: abs(there[pairs[at[0]], pairs[at[1]]] - here[at]))
    target = one.tokens[j] if one.tokens[j] == two.tokens[pairs[j]] else f"{one.tokens[j]} / {two.tokens[pairs[j]]}"
    return (
        f"What changes most in layer {layer + 1}, head {head + 1}: **{plain(one.tokens[i])}** attends to "
        f"**{plain(target)}** with {percent(float(here[i, j]))} in the first version, with "
        f"{percent(float(there[pairs[i], pairs[j]]))} in the second."
    )


def chosen_head(maps: AttentionMaps, view: dict) -> tuple[int, int]:
    """Return layer and head of the canvas, or the last ones if this model has fewer."""
    layers, heads = maps.weights.shape[:2]
    return min(view["layer"], layers - 1), min(view["head"], heads - 1)


def first_view() -> dict:
    """Return what was chosen for a new canvas: what was chosen on the one before, or what the link names.

    It stays the same while the canvas is there, so the weights are sent only once.
    """
    if state.went_back():  # another canvas: the one before would report what was chosen since
        st.session_state.attention_moves = st.session_state.get("attention_moves", 0) + 1
        st.session_state.attention_view = linked_view()
    elif canvas_key() not in st.session_state or "attention_view" not in st.session_state:
        st.session_state.attention_view = st.session_state.get("attention_seen") or linked_view()
    return st.session_state.attention_view


def canvas_key() -> str:
    return f"heads {st.session_state.get('attention_moves', 0)}"


def linked_view() -> dict:
    parts = (state.link_value("head") or "").partition("-")
    layer, head = state.number_in(parts[0]), state.number_in(parts[2])
    view: dict = {} if layer is None or head is None else {"layer": max(layer - 1, 0), "head": max(head - 1, 0)}
    flags = (state.link_value("show") or "").split(",")
    return view | {"role": state.link_value("role") or ""} | dict(CHOICES[flag] for flag in flags if flag in CHOICES)


def keep_in_link(view: dict, opening: bool) -> None:
    state.share("head", "" if opening else f"{view['layer'] + 1}-{view['head'] + 1}")
    state.share("show", ",".join(flag for flag, (name, value) in CHOICES.items() if view.get(name) == value))
    state.share("role", view.get("role", ""))


def export_head(
    loaded: models.Loaded, other: models.Loaded | None, heads: ModelHeads, view: dict, text: str, pair: str | None
) -> None:
    """Show the chosen head of the first model as table, files and cell."""
    shown = shown_of(heads, view)
    layer, head = chosen_head(shown, view)
    weights = shown.weights[layer, head]  # (L, A, S, S) -> (S, S)
    chosen = {"layer": layer, "head": head} | ({"role": view["role"]} if view.get("role") else {})
    chosen |= {name: value for name, value in CHOICES.values() if view.get(name) == value}
    cell, asked = Cell(), (text, pair, loaded.limit)
    maps = cell.made("maps", attention_maps, loaded, *asked)
    control = None if loaded.random else cell.made("control", attention_maps, models.control_of(loaded), *asked)
    options: dict = {"view": chosen}
    if other:
        second = cell.made("second", attention_maps, other, *asked)
        options["beside"] = cell.let("beside", cell.call(ModelHeads, other.name, second))
    code = cell.picture(attention_widget, maps, loaded.name, control, **options)
    table = attention_table(shown.tokens, weights)
    exports(f"attention-layer{layer + 1}-head{head + 1}", table, code, attention_heatmap(shown.tokens, weights))
