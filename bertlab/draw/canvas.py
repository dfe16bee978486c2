"""One canvas for all attention heads, hosted by Streamlit in the app and by anywidget in notebooks."""

import json
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from bertlab.explain.attention import AttentionMaps

_MODULE = Path(__file__).with_name("attention.js")

# Streamlit calls the default export again on every rerun: a canvas that already shows these bytes stays.
_STREAMLIT_HOST = """
export default function ({ data, parentElement, setStateValue }) {
  const sum = data.reduce((hash, byte) => (Math.imul(hash, 31) + byte) | 0, data.length);
  const root = parentElement.querySelector(".attention-root");
  if (root.dataset.sum === String(sum)) return;
  root.dataset.sum = sum;
  mount(root, data, JSON.parse(root.dataset.view || "{}"), (view) => {
    root.dataset.view = JSON.stringify(view);
    setStateValue("view", view);
  });
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


def pack(maps: AttentionMaps, name: str, control: AttentionMaps | None = None, view: dict | None = None) -> bytes:
    """Header and weights as attention.js reads them: one byte a weight, 255 = 1.0.

    `control` holds the same heads of a random-weights model; `view` is what to show first, for
    example {"layer": 1, "head": 0}.
    """
    layers, heads, _, _ = maps.weights.shape
    header = {"tokens": maps.tokens, "layers": layers, "heads": heads, "name": name}
    header |= {"control": control is not None, "view": view or {}}
    coded = json.dumps(header).encode()
    weights = b"".join(_as_bytes(m.weights) for m in (maps, control) if m is not None)
    return struct.pack("<I", len(coded)) + coded + weights


def _as_bytes(weights: Tensor) -> bytes:
    return (weights * 255).round().clamp(0, 255).to(torch.uint8).numpy().tobytes()


def attention_widget(
    maps: AttentionMaps, name: str = "trained", control: AttentionMaps | None = None, view: dict | None = None
):
    """The heads as an anywidget for notebooks; its `view` trait follows what the reader looks at."""
    return _widget_class()(data=pack(maps, name, control), view=view or {})


@cache
def _widget_class():
    import anywidget
    import traitlets

    class AttentionWidget(anywidget.AnyWidget):
        _esm = _MODULE.read_text() + _ANYWIDGET_HOST
        data = traitlets.Bytes().tag(sync=True)
        view = traitlets.Dict().tag(sync=True)

    return AttentionWidget


def attention_component(
    maps: AttentionMaps,
    key: str,
    name: str = "trained",
    control: AttentionMaps | None = None,
    view: dict | None = None,
    on_view: Callable[[], None] | None = None,
) -> dict:
    """The heads as a Streamlit component; returns what the reader looks at (layer, head, toggles)."""
    result = _component()(
        key=key,
        data=pack(maps, name, control, view),
        default={"view": view or {}},
        on_view_change=on_view or (lambda: None),
    )
    return dict(result.view or {})


@cache
def _component():
    import streamlit as st

    return st.components.v2.component(
        "bertlab_attention",
        html='<div class="attention-root"></div>',
        js=_MODULE.read_text() + _STREAMLIT_HOST,
    )
