"""Components in plain JavaScript: one ES module each, hosted by Streamlit in the app and by anywidget in notebooks.

The files of a component define headerOf(bytes), which tells data apart, and mount(root, bytes, view, onView).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torch import Tensor

BROWSER = Path(__file__).with_name("browser")  # scripts and styles that run there
# Streamlit calls the default export again on every rerun: a component that already shows these bytes stays.
_STREAMLIT_HOST = """
export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".component"), header = headerOf(data);
  if (root.dataset.header === header) return;
  root.dataset.header = header;
  mount(root, data, {}, (view) => setStateValue("view", view));
}
"""
_ANYWIDGET_HOST = """
export default { render({ model, el }) {
  const root = document.createElement("div");
  root.className = "component";
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
class Component:
    """A component called `name`: its style name.css and its scripts, in their order, after those that all share."""

    name: str
    scripts: tuple[str, ...]

    def show(self, key: str, data: bytes, on_view: Callable[[], None] | None = None) -> dict:
        """Show it in Streamlit. Returns what the user chose; `on_view` is called when that changes."""
        on_view = on_view or (lambda: None)
        result = _streamlit(self)(key=key, data=data, default={"view": {}}, on_view_change=on_view)
        return dict(result.view or {})

    def widget(self, data: bytes, view: dict | None = None):
        """Return it as an anywidget for notebooks. Its `view` trait follows what the user chooses."""
        return _widget(self)(data=data, view=view or {})

    def module(self, host: str) -> str:
        """Return one ES module: style, scripts, and what ties them to a host."""
        style = _read("shared.css") + _read(f"{self.name}.css")
        return "\n".join([f"const CSS = {json.dumps(style)};", *map(_read, ("shared.js", *self.scripts)), host])


def rounded(values) -> list | float | None:
    """Nested lists with three decimals; nan, which JSON lacks, as None."""
    if isinstance(values, Tensor):
        values = values.tolist()
    if isinstance(values, list):
        return [rounded(value) for value in values]
    return round(values, 3) if values == values else None


def _read(name: str) -> str:
    return (BROWSER / name).read_text(encoding="utf-8")


@cache
def _streamlit(component: Component):
    import streamlit as st

    module = component.module(_STREAMLIT_HOST)
    return st.components.v2.component(f"bertlab_{component.name}", html='<div class="component"></div>', js=module)


@cache
def _widget(component: Component):
    import anywidget
    import traitlets

    class Widget(anywidget.AnyWidget):
        _esm = component.module(_ANYWIDGET_HOST)
        data = traitlets.Bytes().tag(sync=True)
        view = traitlets.Dict().tag(sync=True)

    return Widget
