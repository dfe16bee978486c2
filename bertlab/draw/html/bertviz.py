"""bertviz without a network: its three views with d3 and jquery inlined, each one piece of HTML.

Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model". Here its layers and heads count from 1.
"""

import json
from functools import cache
from importlib.resources import files

from bertlab.draw.html.component import rounded
from bertlab.errors import InputError
from bertlab.explain.attention.maps import AttentionMaps, Neurons

# The data grow with the square of the tokens, and the pictures are unreadable long before.
LONGEST = 64  # tokens of the head view
LONGEST_NEURONS = 32  # tokens of the neuron view
MOST_LINES = 70_000  # of the model view, which draws a line for each weight of each head

# The views are written for require.js. Everything stays inside one function, so that pages keep their own d3.
_PAGE = """<style>
#{name} {{ background: white; color: black; padding: 8px; font-family: sans-serif; overflow-x: auto; {style} }}
#{name} #vis svg {{ min-width: {width}px; }}
</style>
<div id="{name}">
<div class="controls" style="display: none">{controls}</div>
<div id="vis"><i>Run this cell to see the heads.</i></div>
</div>
<script>
(function () {{
  const load = (run) => {{ const module = {{ exports: {{}} }}; run(module, module.exports); return module.exports; }};
  const jquery = load(function (module, exports, define) {{ {jquery} }});
  const d3 = load(function (module, exports, define) {{ {d3} }});
  const require = {{ config() {{}} }};
  const requirejs = (names, run) => run(jquery, d3);
  document.querySelector("#{name} .controls").style.display = "";
  {view}
}})();
</script>"""
# The model view is drawn 970 pixels wide: let it shrink with the page, down to what can be read.
_SHRINK = """
  const svg = document.querySelector("#{name} svg");
  svg.setAttribute("viewBox", `0 0 ${{svg.getAttribute("width")}} ${{svg.getAttribute("height")}}`);
  svg.style = "width: 100%; height: auto; max-width: 970px";"""
# The neuron view has no names for its layers and heads but their numbers.
_COUNT = """
  for (const option of document.querySelectorAll("#{name} option")) option.text = +option.value + 1;"""
_LAYER = '<label>Layer: <select id="layer"></select></label>'
_HEAD = '<label>Head: <select id="att_head"></select></label>'
# Black and white change places, colours keep their hue; white becomes the grey of Streamlit's dark page.
_DARK = "filter: invert(.914) hue-rotate(180deg);"


def head_view(
    maps: AttentionMaps, layer: int = 0, heads: list[int] | None = None, name: str = "bertviz-heads", dark: bool = False
) -> str:
    """HTML with bertviz's head view: lines from each token to the tokens it attends to, a colour for each head.

    Opens at `layer` with `heads` switched on (None: all), counted from 0. `name` is the id of the element, one
    for each view on a page. Needs no network. Raises InputError when the text has more than 64 tokens.
    """
    _check_length(maps, LONGEST)
    data = _attention(maps) | {"layer": layer + 1, "heads": heads, "include_layers": _from_one(len(maps.weights))}
    data["attention"] = [data["attention"]]
    return _page("head_view.js", "PYTHON_PARAMS", data, name, dark, _LAYER, width=300)


def model_view(maps: AttentionMaps, name: str = "bertviz-model", dark: bool = False) -> str:
    """HTML with bertviz's model view: all layers and heads as thumbnails; a click enlarges one.

    Raises InputError when there are more than 70,000 weights to draw; see most_tokens.
    """
    layers, heads = maps.weights.shape[:2]
    _check_length(maps, most_tokens(layers, heads))
    counted = {"include_layers": _from_one(layers), "include_heads": _from_one(heads), "total_heads": heads}
    data = _attention(maps) | counted
    data["attention"] = [data["attention"]]
    return _page("model_view.js", "PYTHON_PARAMS", data, name, dark, width=600, then=_SHRINK.format(name=name))


def most_tokens(layers: int, heads: int) -> int:
    """How many tokens the model view of so many layers and heads can draw."""
    return int((MOST_LINES / (layers * heads)) ** 0.5)


def neuron_view(
    neurons: Neurons, layer: int = 0, head: int = 0, name: str = "bertviz-neurons", dark: bool = False
) -> str:
    """HTML with bertviz's neuron view: how one token's query meets every key, number by number.

    Opens at `layer` and `head`, counted from 0. Raises InputError when the text has more than 32 tokens.
    """
    _check_length(neurons.maps, LONGEST_NEURONS)
    data = _attention(neurons.maps) | {"layer": layer, "head": head, "bidirectional": True, "default_filter": "all"}
    data["attention"] |= {"queries": rounded(neurons.queries), "keys": rounded(neurons.keys)}
    data["attention"] = {"all": data["attention"]}
    controls, then = f"{_LAYER} {_HEAD}", _COUNT.format(name=name)
    return _page("neuron_view.js", "window.bertviz_params", data, name, dark, controls, 1090, then)


def _attention(maps: AttentionMaps) -> dict:
    """What all views want to know."""
    shown = {"name": None, "attn": rounded(maps.weights), "left_text": maps.tokens, "right_text": maps.tokens}
    return {"attention": shown, "default_filter": "0", "display_mode": "light"}


def _from_one(count: int) -> list[int]:
    """The names of so many layers or heads."""
    return list(range(1, count + 1))


def _check_length(maps: AttentionMaps, most: int) -> None:
    if len(maps.tokens) > most:
        raise InputError(f"{len(maps.tokens)} tokens are too many for this view: give at most {most}")


def _page(
    script: str, marker: str, data: dict, name: str, dark: bool, controls: str = "", width: int = 0, then: str = ""
) -> str:
    coded = json.dumps(data | {"root_div_id": name}).replace("<", r"\u003c")  # a token may be </script>
    return _PAGE.format(
        name=name,
        style=_DARK if dark else "",
        width=width,
        controls=controls,
        jquery=_script("xstatic.pkg.jquery", "data/jquery.min.js"),
        d3=_script("mpld3", "js/d3.v5.min.js"),
        view=_script("bertviz", script).replace(marker, coded) + then,
    )


@cache
def _script(package: str, path: str) -> str:
    return files(package).joinpath(path).read_text(encoding="utf-8")
