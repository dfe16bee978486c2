"""One canvas for all attention heads, hosted by Streamlit in the app and by anywidget in notebooks."""

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from bertlab.explain.attention.heads import ROLES, head_roles
from bertlab.explain.attention.maps import AttentionMaps

# Streamlit calls the default export again on every rerun: a canvas that already shows these bytes stays.
_STREAMLIT_HOST = """
export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".attention-root"), header = headerOf(data);
  if (root.dataset.header === header) return;
  root.dataset.header = header;
  mount(root, data, {}, (view) => setStateValue("view", view));
}
"""
_ANYWIDGET_HOST = """
export default { render({ model, el }) {
  const root = document.createElement("div");
  el.append(root);
  const draw = () => {
    const { buffer, byteOffset, byteLength } = model.get("data");
    mount(root, new Uint8Array(buffer, byteOffset, byteLength), model.get("view"), (view) => {
      model.set("view", view);
      model.save_changes();
    });
  };
  model.on("change:data", draw);
  draw();
} };
"""


@dataclass(frozen=True)
class ModelHeads:
    """The heads of one model on one text; `control` holds those of a random-weights model of the same shape."""

    name: str
    maps: AttentionMaps
    control: AttentionMaps | None = None


def pack(models: Sequence[ModelHeads], view: dict | None = None) -> bytes:
    """Header and weights as attention.js reads them: one byte a weight, 255 = 1.0.

    Several models, which may differ in shape and tokens, are drawn beside each other. `view` is what to show
    first, for example {"layer": 1, "head": 0, "role": "previous"}.
    """
    weights = b"".join(_as_bytes(maps.weights) for model in models for maps in _sets(model))
    header = {"roles": ROLES, "models": [_described(model) for model in models], "view": view or {}}
    coded = json.dumps(header | {"sum": zlib.crc32(weights)}, allow_nan=False).encode()
    return struct.pack("<I", len(coded)) + coded + weights


def _sets(model: ModelHeads) -> list[AttentionMaps]:
    return [maps for maps in (model.maps, model.control) if maps is not None]


def _described(model: ModelHeads) -> dict:
    layers, heads, _, _ = model.maps.weights.shape
    roles = [head_roles(maps) for maps in _sets(model)]
    sets = [{"scores": _rounded(r.scores), "best": r.best.tolist()} for r in roles]
    shape = {"layers": layers, "heads": heads, "uniform": _rounded(roles[0].uniform)}
    return {"name": model.name, "tokens": model.maps.tokens, "sets": sets} | shape


def _rounded(values) -> list | float | None:
    """Nested lists with three decimals; nan, which JSON lacks, as None."""
    if isinstance(values, Tensor):
        values = values.tolist()
    if isinstance(values, list):
        return [_rounded(value) for value in values]
    return round(values, 3) if values == values else None


def _as_bytes(weights: Tensor) -> bytes:
    return (weights * 255).round().clamp(0, 255).to(torch.uint8).numpy().tobytes()


def _module(host: str) -> str:
    """One ES module: style, one head in full, all heads, both together, and what ties them to a host."""
    names = ("attention.css", "attention_head.js", "attention_grid.js", "attention.js")
    style, *parts = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)
    return "\n".join([f"const CSS = {json.dumps(style)};", *parts, host])


def attention_widget(
    maps: AttentionMaps,
    name: str = "trained",
    control: AttentionMaps | None = None,
    view: dict | None = None,
    beside: ModelHeads | None = None,
):
    """The heads as an anywidget for notebooks, with those of a second model `beside` them.

    Its `view` trait follows what the user chooses.
    """
    models = [ModelHeads(name, maps, control)] + ([beside] if beside else [])
    return _widget_class()(data=pack(models), view=view or {})


@cache
def _widget_class():
    import anywidget
    import traitlets

    class AttentionWidget(anywidget.AnyWidget):
        _esm = _module(_ANYWIDGET_HOST)
        data = traitlets.Bytes().tag(sync=True)
        view = traitlets.Dict().tag(sync=True)

    return AttentionWidget


def attention_component(models: Sequence[ModelHeads], key: str, view: dict | None = None) -> dict:
    """The heads as a Streamlit component; returns what the user chose (layer, head, role, toggles)."""
    result = _component()(
        key=key,
        data=pack(models, view),
        default={"view": view or {}},
        on_view_change=lambda: None,
    )
    return dict(result.view or {})


@cache
def _component():
    import streamlit as st

    return st.components.v2.component(
        "bertlab_attention", html='<div class="attention-root"></div>', js=_module(_STREAMLIT_HOST)
    )
