"""Notebook cells of heads switched off, of measures beside attention, and of bertviz; a test runs every one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.pages.masking.cells import model_of
from app.shared.opening import opened

if TYPE_CHECKING:
    from app.pages.masking.gaps import Asked
    from app.shared.models import Loaded

Heads = Sequence[tuple[int, int]]


def fill(asks: Sequence["Asked"], gap: int, word: str, off: Heads) -> str:
    """`asks`: the model and, where there is one, that beside it."""
    ask, *others = asks
    return f"""from bertlab.draw.charts.knockout import knockout_maps, largest
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.knockout import fill_knockouts, fill_without
{model_of(ask)}

{question(ask, gap, word)}
rows = list(fill_knockouts(model, tok, **question))  # L changes of A heads each, in nats
control = list(fill_knockouts(random_control(model), tok, **question))
off = {list(off)!r}  # (layer, head), from 0
found = fill_without(model, tok, **question, off=off)
print(f"{{found.before.tokens[0]}} -> {{found.after.tokens[0]}}, change in ln p {{found.change:+.2f}}")
print(f"random weights change it by {{largest(control):.2f}} at most")
maps = {{{ask.loaded.name!r}: rows}}{beside(others, "list(fill_knockouts(other, other_tok, **question))", gap, word)}
knockout_maps(maps | {{"random weights": control}}, off)"""


def measures(asks: Sequence["Asked"], gap: int, word: str) -> str:
    """`asks`: the model and, where there is one, that beside it."""
    ask, *others = asks
    return f"""from bertlab.draw.charts.knockout import measure_maps
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.flow import measures
{model_of(ask)}

{question(ask, gap, word)}
found = measures(model, tok, **question)
control = measures(random_control(model), tok, **question)
print(found.agreement.round(2), control.agreement.round(2), sep="\\n")
maps = {{{ask.loaded.name!r}: found}}{beside(others, "measures(other, other_tok, **question)", gap, word)}
measure_maps(maps | {{"random weights": control}})"""


def question(ask: "Asked", gap: int, word: str) -> str:
    """The line that says which word in which gap is asked about."""
    parts = dict(text=ask.text, pair=ask.pair, masked=list(ask.masked), gap=gap, token=word, limit=ask.loaded.limit)
    return f"question = dict({', '.join(f'{name}={value!r}' for name, value in parts.items())})"


def beside(asks: Sequence["Asked"], computed: str, gap: int, word: str) -> str:
    """Lines that add what is `computed` of the second model; its tokens may be others, and so its question."""
    lines = ""
    for ask in asks:
        source = repr(ask.loaded.source)
        lines += f"""

other, other_tok = BertForPreTraining.from_pretrained({source}), Tokenizer.from_pretrained({source})
{question(ask, gap, word)}
maps[{ask.loaded.name!r}] = {computed}"""
    return lines and f"{lines}\n"


def bertviz(loaded: "Loaded", text: str, pair: str | None, view: str, layer: int, head: int, limit: int) -> str:
    computed, function, drawn = {
        "heads": ("attention", "attention_maps", f"head_view(found, layer={layer}, heads=[{head}])"),
        "model": ("attention", "attention_maps", "model_view(found)"),
        "neurons": ("neurons", "neurons", f"neuron_view(found, layer={layer}, head={head})"),
    }[view]
    return f"""from bertlab.draw.html.bertviz import {drawn.partition("(")[0]}
from bertlab.explain.{computed} import {function}
from IPython.display import HTML
{opened("BertModel", loaded.source, loaded.random)}

found = {function}(model, tok, {text!r}, {pair!r}, limit={limit})
HTML({drawn})"""
