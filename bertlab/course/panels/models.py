"""Panels of what a model says: fill-ins, answers, heads."""

from collections.abc import Sequence
from html import escape

import ipywidgets as widgets

from bertlab.course.panels.base import LABEL, WIDE, Panel, bar, line, panel, slider
from bertlab.draw.html.canvas import attention_widget
from bertlab.draw.html.marked import marked_passage
from bertlab.explain.attention.maps import AttentionMaps
from bertlab.explain.spans import Answer, answer
from bertlab.explain.words.fill import Fill, MaskedLM, fill_mask
from bertlab.model import BertForQuestionAnswering
from bertlab.tokenizer import Tokenizer


def fill_panel(model: MaskedLM, tokenizer: Tokenizer, text: str) -> Panel:
    """A line of text with [MASK] in it, and the words that the model would write there."""
    field, count = line("text", text), slider("guesses", 5, 1, 20)
    return panel(lambda text, k: fills_html(fill_mask(model, tokenizer, text, k=k)), text=field, k=count)


def question_panel(model: BertForQuestionAnswering, tokenizer: Tokenizer, question: str, passage: str) -> Panel:
    """A passage, a question, and the answer marked in the passage."""
    area = widgets.Textarea(passage, description="passage", style=LABEL, rows=5, layout=WIDE)

    def show(question: str, passage: str) -> str:
        return answer_html(answer(model, tokenizer, question, passage))

    return panel(show, question=line("question", question), passage=area)


def heads_panel(maps: AttentionMaps, control: AttentionMaps, layer: int = 0, head: int = 0) -> Panel:
    """All heads as a grid and one of them in full, with the random-weights control beside; counted from 0."""
    heads = attention_widget(maps, control=control, view={"layer": layer, "head": head})
    return Panel([heads], lambda: "")


def fills_html(fills: Sequence[Fill]) -> str:
    """A table for each masked position: word, probability, bar."""
    tables = []
    for number, fill in enumerate(fills, start=1):
        rows = "".join(_row(token, p) for token, p in zip(fill.tokens, fill.probabilities, strict=True))
        tables.append(f"<div><b>[MASK] {number}</b><table>{rows}</table></div>")
    return f'<div style="display:flex;flex-wrap:wrap;gap:24px">{"".join(tables)}</div>'


def _row(token: str, probability: float) -> str:
    return f"<tr><td><bdi>{escape(token)}</bdi></td><td>{probability:.1%}</td><td>{bar(160 * probability)}</td></tr>"


def answer_html(found: Answer) -> str:
    """The passage with the answer marked, and the answers that came next."""
    rows = "".join(_row(span.text or "(no answer)", span.probability) for span in found.spans[:3])
    passage = marked_passage(found.passage, found.best.start_char, found.best.end_char)
    return f"{passage}<table>{rows}</table>"
