"""Notebook cells of the answer spans; a test runs every one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.shared.opening import opened

if TYPE_CHECKING:
    from app.shared.models import Loaded


def asked(loaded: "Loaded", question: str, passage: str) -> str:
    return f"""{opened("BertForQuestionAnswering", loaded.source, loaded.random)}

question = {question!r}
passage = {passage!r}
found = answer(model, tok, question, passage)
print(found.best.text or "no answer", f"{{found.best.probability:.2f}}")"""


def answer(loaded: "Loaded", question: str, passage: str) -> str:
    return f"""from bertlab.draw.html.marked import shaded_passage
from bertlab.draw.charts.spans import best_table
from bertlab.explain.spans import answer
from IPython.display import HTML, display
{asked(loaded, question, passage)}
print(f"no-answer score {{found.no_answer_score:.2f}}, threshold {{found.threshold:.2f}}")
display(best_table(found))
HTML(shaded_passage(found))"""


def grid(loaded: "Loaded", question: str, passage: str, tokens: range) -> str:
    """`tokens`: those of the window that are drawn."""
    return f"""from bertlab.draw.charts.spans import boundary_bars, span_heatmap
from bertlab.explain.spans import answer
{asked(loaded, question, passage)}
tokens = {tokens!r}
(span_heatmap(found, tokens) & boundary_bars(found, tokens)).resolve_scale(color="independent")"""


def why(loaded: "Loaded", question: str, passage: str) -> str:
    return f"""from bertlab.draw.charts.base import attribution_bars
from bertlab.explain.attribution import attribute_span
from bertlab.explain.ablation import random_control
from bertlab.explain.spans import answer, window_batch
{asked(loaded, question, passage)}
row = window_batch(model, tok, question, passage, found.window)
place = found.best.start_token, found.best.end_token
pushed = attribute_span(model, tok, row, *place)
control = attribute_span(random_control(model), tok, row, *place)
print(f"pushes of {{pushed.values.sum():.2f}}, the score rose by {{pushed.score - pushed.baseline:.2f}}")
attribution_bars(pushed, control)"""


def heads(loaded: "Loaded", question: str, passage: str, off: Sequence[tuple[int, int]]) -> str:
    return f"""from bertlab.draw.charts.knockout import knockout_maps
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.knockout import answer_knockouts, answer_without
from bertlab.explain.spans import answer
{asked(loaded, question, passage)}
place = found.window, found.best.start_token, found.best.end_token
rows = list(answer_knockouts(model, tok, question, passage, *place))  # L changes of A heads each, in nats
control = list(answer_knockouts(random_control(model), tok, question, passage, *place))
off = {list(off)!r}  # (layer, head), from 0
print("without them:", answer_without(model, tok, question, passage, off).best.text or "no answer")
knockout_maps({{{loaded.name!r}: rows, "random weights": control}}, off)"""
