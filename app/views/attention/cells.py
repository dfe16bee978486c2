"""Notebook cells of the attention heads; a test runs every one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.shared.page.exports import model_lines

if TYPE_CHECKING:
    from app.shared.model.models import Loaded
    from app.views.attention.followed import Query

Heads = Sequence[tuple[int, int]]


def attention(
    model: str, text: str, pair: str | None, limit: int, view: dict, beside: tuple[str, bool] | None = None
) -> str:
    """`beside`: where a second model comes from, and whether its weights are random."""
    second = second_heads(*beside) if beside else ""
    return f"""{model_lines("BertModel", model)}
from bertlab.draw.html.canvas import ModelHeads, attention_widget
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.ablation import random_control

{inputs(text, pair, limit)}
maps = attention_maps(model, tok, *inputs)
control = attention_maps(random_control(model), tok, *inputs){second}
attention_widget(maps, {model!r}, control, view={view!r}{", beside=beside" if second else ""})"""


def second_heads(model: str, random: bool) -> str:
    """Return lines that make `beside`, the heads of a second model."""
    made = f"BertModel.from_pretrained({model!r})"
    return f"""
other, other_tok = {f"random_control({made})" if random else made}, Tokenizer.from_pretrained({model!r})
beside = ModelHeads({"random weights" if random else model!r}, attention_maps(other, other_tok, *inputs))"""


def inputs(text: str, pair: str | None, limit: int) -> str:
    return f"inputs = {text!r}, {pair!r}, {limit}  # text, second text, and the most tokens that are read"


def roles(model: str, text: str, pair: str | None, limit: int) -> str:
    return f"""{model_lines("BertModel", model)}
from bertlab.draw.charts.attention import role_maps, role_table
from bertlab.explain.attention.maps import attention_maps
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.heads import head_roles

{inputs(text, pair, limit)}
learned = head_roles(attention_maps(model, tok, *inputs))
control = head_roles(attention_maps(random_control(model), tok, *inputs))
role_maps(role_table(learned, control))"""


def fill(queries: Sequence["Query"], number: int, word: str, off: Heads) -> str:
    """`queries`: that of the model and, where there is one, that of the model beside it."""
    query, *others = queries
    second = "list(fill_knockouts(other, other_tok, **question))"
    return f"""from bertlab.draw.charts.knockout import knockout_maps, largest
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.knockout import fill_knockouts, fill_without
{model_of(query)}

{question(query, number, word)}
rows = list(fill_knockouts(model, tok, **question))  # L rows with the changes of A heads, in nats
control = list(fill_knockouts(random_control(model), tok, **question))
off = {list(off)!r}  # (layer, head), from 0
found = fill_without(model, tok, **question, off=off)
print(f"{{found.before.tokens[0]}} -> {{found.after.tokens[0]}}, change in ln p {{found.change:+.2f}}")
print(f"random weights change it by {{largest(control):.2f}} at most")
maps = {{{query.loaded.name!r}: rows}}{beside(others, second, number, word)}
knockout_maps(maps | {{"random weights": control}}, off)"""


def measures(queries: Sequence["Query"], number: int, word: str) -> str:
    """`queries`: that of the model and, where there is one, that of the model beside it."""
    query, *others = queries
    return f"""from bertlab.draw.charts.knockout import measure_maps
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.flow import measures
{model_of(query)}

{question(query, number, word)}
found = measures(model, tok, **question)
control = measures(random_control(model), tok, **question)
print(found.agreement.round(2), control.agreement.round(2), sep="\\n")
maps = {{{query.loaded.name!r}: found}}{beside(others, "measures(other, other_tok, **question)", number, word)}
measure_maps(maps | {{"random weights": control}})"""


def model_of(query: "Query") -> str:
    return model_lines("BertForPreTraining", query.loaded.source, query.loaded.random)


def question(query: "Query", number: int, word: str) -> str:
    """Return the line that names the word and the masked position."""
    options = dict(text=query.text, pair=query.pair, masked=list(query.masked), gap=number, token=word)
    options["limit"] = query.loaded.limit
    return f"question = dict({', '.join(f'{name}={value!r}' for name, value in options.items())})"


def beside(queries: Sequence["Query"], computed: str, number: int, word: str) -> str:
    """Return lines that add what is `computed` of the second model, which may need a question of its own."""
    lines = ""
    for query in queries:
        source = repr(query.loaded.source)
        lines += f"""

other, other_tok = BertForPreTraining.from_pretrained({source}), Tokenizer.from_pretrained({source})
{question(query, number, word)}
maps[{query.loaded.name!r}] = {computed}"""
    return lines and f"{lines}\n"


def bertviz(loaded: "Loaded", text: str, pair: str | None, view: str, layer: int, head: int, limit: int) -> str:
    function, drawn = {
        "heads": ("attention_maps", f"head_view(found, layer={layer}, heads=[{head}])"),
        "model": ("attention_maps", "model_view(found)"),
        "neurons": ("neurons", f"neuron_view(found, layer={layer}, head={head})"),
    }[view]
    return f"""from bertlab.draw.html.bertviz import {drawn.partition("(")[0]}
from bertlab.explain.attention.maps import {function}
from IPython.display import HTML
{model_lines("BertModel", loaded.source, loaded.random)}

found = {function}(model, tok, {text!r}, {pair!r}, limit={limit})
HTML({drawn})"""
