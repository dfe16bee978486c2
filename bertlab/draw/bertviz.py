"""bertviz without a network: its head view with d3 and jquery inlined, as one piece of HTML."""

import json
from functools import cache
from importlib.resources import files

from bertlab.errors import InputError
from bertlab.explain.attention import AttentionMaps

LONGEST = 64  # tokens; the data grow with their square, and the picture is unreadable long before

# The view is written for require.js. Everything stays inside one function, so that pages keep their own d3.
_PAGE = """<div id="{name}" style="background: white; color: black; padding: 8px; font-family: sans-serif">
<span>Layer: <select id="layer"></select></span>
<div id="vis"><i>Run this cell to see the heads.</i></div>
</div>
<script>
(function () {{
  const load = (run) => {{ const module = {{ exports: {{}} }}; run(module, module.exports); return module.exports; }};
  const jquery = load(function (module, exports, define) {{ {jquery} }});
  const d3 = load(function (module, exports, define) {{ {d3} }});
  const require = {{ config() {{}} }};
  const requirejs = (names, run) => run(jquery, d3);
  {view}
}})();
</script>"""


def head_view(maps: AttentionMaps, layer: int = 0, heads: list[int] | None = None, name: str = "bertviz-heads") -> str:
    """HTML with bertviz's head view: lines from each token to the tokens it looks at, a colour for each head.

    Opens at `layer` with `heads` switched on (None: all), counted from 0. `name` is the id of the element, one
    for each view on a page. Needs no network. Raises InputError when the text has more than 64 tokens.
    """
    if len(maps.tokens) > LONGEST:
        raise InputError(f"{len(maps.tokens)} tokens are too many for this view: give at most {LONGEST}")
    weights = [[[[round(w, 3) for w in row] for row in head] for head in layer_] for layer_ in maps.weights.tolist()]
    data = {
        "attention": [{"name": None, "attn": weights, "left_text": maps.tokens, "right_text": maps.tokens}],
        "default_filter": "0",
        "root_div_id": name,
        "layer": layer,
        "heads": heads,
        "include_layers": list(range(len(weights))),
    }
    coded = json.dumps(data).replace("<", r"\u003c")  # a token may be </script>
    view = _script("bertviz", "head_view.js").replace("PYTHON_PARAMS", coded)
    jquery, d3 = _script("xstatic.pkg.jquery", "data/jquery.min.js"), _script("mpld3", "js/d3.v5.min.js")
    return _PAGE.format(name=name, jquery=jquery, d3=d3, view=view)


@cache
def _script(package: str, path: str) -> str:
    return files(package).joinpath(path).read_text(encoding="utf-8")
