"""Notebook cells of the answer spans; a test runs every one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.shared.page.exports import model_lines

if TYPE_CHECKING:
    from app.shared.model.models import Loaded


def found_answer(loaded: "Loaded", question: str, passage: str) -> str:
    return f"""{model_lines("BertForQuestionAnswering", loaded.source, loaded.random)}

question = {question!r}
passage = {passage!r}
found = answer(model, tok, question, passage)
print(found.best.text or "no answer", f"{{found.best.probability:.2f}}")"""


def answer(loaded: "Loaded", question: str, passage: str) -> str:
    return f"""from bertlab.draw.html.marked import shaded_passage
from bertlab.draw.charts.spans import best_table
from bertlab.explain.spans import answer
from IPython.display import HTML, display
{found_answer(loaded, question, passage)}
print(f"no-answer score {{found.no_answer_score:.2f}}, threshold {{found.threshold:.2f}}")
display(best_table(found))
HTML(shaded_passage(found))"""


def grid(loaded: "Loaded", question: str, passage: str, tokens: range) -> str:
    """`tokens`: those of the window that are drawn."""
    return f"""from bertlab.draw.charts.spans import boundary_bars, span_heatmap
from bertlab.explain.spans import answer
{found_answer(loaded, question, passage)}
tokens = {tokens!r}
(span_heatmap(found, tokens) & boundary_bars(found, tokens)).resolve_scale(color="independent")"""


def why(loaded: "Loaded", question: str, passage: str) -> str:
    return f"""from bertlab.draw.charts.attribution import attribution_bars
from bertlab.explain.attribution import attribute_span
from bertlab.explain.ablation import random_control
from bertlab.explain.spans import answer, window_batch
{found_answer(loaded, question, passage)}
row = window_batch(model, tok, question, passage, found.window)
span = found.best.start_token, found.best.end_token
attributions = attribute_span(model, tok, row, *span)
control = attribute_span(random_control(model), tok, row, *span)
print(f"sum {{attributions.values.sum():.2f}}, ln p rose by {{attributions.score - attributions.baseline:.2f}}")
attribution_bars(attributions, control)"""


def heads(loaded: "Loaded", question: str, passage: str, off: Sequence[tuple[int, int]]) -> str:
    return f"""from bertlab.draw.charts.knockout import knockout_maps
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.knockout import answer_knockouts, answer_without
from bertlab.explain.spans import answer
{found_answer(loaded, question, passage)}
span = found.window, found.best.start_token, found.best.end_token
rows = list(answer_knockouts(model, tok, question, passage, *span))  # L rows with the changes of A heads, in nats
control = list(answer_knockouts(random_control(model), tok, question, passage, *span))
off = {list(off)!r}  # (layer, head), from 0
print("without them:", answer_without(model, tok, question, passage, off).best.text or "no answer")
knockout_maps({{{loaded.name!r}: rows, "random weights": control}}, off)"""
