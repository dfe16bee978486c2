"""Panels of fine-tuned models: the class of a sentence, the names in a text, the answer in a passage, a search."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

import ipywidgets as widgets

from bertlab.course.panels.base import LABEL, WIDE, Panel, bar, heading, image_html, line, panel, slider
from bertlab.course.panels.models import answer_html
from bertlab.draw.figures.tasks.answers import span_square
from bertlab.draw.html.marked import marked_names
from bertlab.draw.palette import BLUE
from bertlab.errors import InputError
from bertlab.explain.labels import Name
from bertlab.explain.spans import Answer, answer
from bertlab.explain.text import clean
from bertlab.model import BertForQuestionAnswering
from bertlab.search.ranking import Hit, Ranker, best_hits
from bertlab.search.units import Unit
from bertlab.tasks.token import entities, words_of
from bertlab.tokenizer import Tokenizer

Classifier = Callable[[str], Sequence[float]]  # a text -> the probability of each label
Tagger = Callable[[list[str]], Sequence[str]]  # words -> a label for each


def classify_panel(models: Mapping[str, Classifier], labels: Sequence[str], text: str) -> Panel:
    """A line of text, and for each model, by name, the probabilities of the labels."""

    def show(text: str) -> str:
        if not text.strip():
            raise InputError("the text is empty: write at least one word")
        return verdicts_html({name: model(text) for name, model in models.items()}, labels)

    return panel(show, text=line("text", text))


def verdicts_html(found: Mapping[str, Sequence[float]], labels: Sequence[str]) -> str:
    """A table: a row for each model, in each column the probability of a label as number and bar."""
    rows = "".join(
        f"<tr><td>{escape(name)}</td>{''.join(_cell(value) for value in values)}</tr>" for name, values in found.items()
    )
    return f"<table>{heading('', *labels)}{rows}</table>"


def _cell(probability: float) -> str:
    shown = f"<div>{probability:.1%}</div>{bar(140 * probability, BLUE)}"
    return f'<td><div style="width:150px;text-align:left">{shown}</div></td>'


def names_panel(taggers: Mapping[str, Tagger], tokenizer: Tokenizer, text: str) -> Panel:
    """A line of text, and below it the same text once for each tagger, with the names that it finds marked."""

    def show(text: str) -> str:
        return "".join(names_html(title, tagger, tokenizer, clean(text)) for title, tagger in taggers.items())

    return panel(show, text=line("text", text))


def names_html(title: str, tagger: Tagger, tokenizer: Tokenizer, text: str) -> str:
    """The text with its names marked, each with its kind; raises InputError when it is empty."""
    spans = words_of(text, tokenizer)
    if not spans:
        raise InputError("the text is empty: write at least one word")
    words = [text[start:stop] for start, stop in spans]
    found = entities(words, tagger(words))
    names = [Name(spans[one.first][0], spans[one.last][1], one.kind) for one in found]
    kinds = sorted({"person", "pet", "place"} | {name.kind for name in names})
    above = f'<p style="margin:10px 0 2px"><b>{escape(title)}</b></p>'
    return above + marked_names(text, names, kinds)


def spans_panel(model: BertForQuestionAnswering, tokenizer: Tokenizer, question: str, passage: str) -> Panel:
    """A question and a passage to change, the threshold of "no answer" and the longest answer in tokens."""
    area = widgets.Textarea(passage, description="passage", style=LABEL, rows=5, layout=WIDE)
    own = round(min(max(model.config.no_answer_threshold, -15.0), 15.0), 1)
    limits = {"threshold": slider("threshold", own, -15, 15, step=0.1), "longest": slider("longest", 30, 1, 30)}

    def show(question: str, passage: str, threshold: float, longest: int) -> str:
        return spans_html(answer(model, tokenizer, question, passage, max_answer_tokens=longest, threshold=threshold))

    return panel(show, question=line("question", question), passage=area, **limits)


def spans_html(found: Answer) -> str:
    """The passage with the answer marked, what the threshold is compared with, and the square."""
    side = "above: no answer" if found.no_answer_score > found.threshold else "not above: the best span"
    compared = f"no answer minus best span: {found.no_answer_score:.1f}, threshold {found.threshold:.1f}, {side}"
    return f"{answer_html(found)}<p>{compared}</p>{image_html(span_square(found))}"


def search_panel(units: Sequence[Unit], rankers: Mapping[str, Ranker], question: str, top: int = 5) -> Panel:
    """A question, and the `top` units by each of the rankers; the first of these is the one by meaning, whose cosines
    are shown."""
    meaning = next(iter(rankers.values()))

    def show(question: str, by: str) -> str:
        if not question.strip():
            return "<p>Type a question.</p>"
        return hits_html(best_hits(units, rankers[by](question), meaning(question), top))

    way = widgets.ToggleButtons(options=list(rankers), description="by", style=LABEL, layout=WIDE)
    return panel(show, question=line("question", question), by=way)


def hits_html(hits: Sequence[Hit]) -> str:
    """A row for each unit: rank, cosine as a bar, name and parameters, first sentence."""
    rows = "".join(
        f"<tr><td>{hit.rank}</td><td>{hit.similarity:.2f}</td><td>{bar(80 * max(hit.similarity, 0), BLUE)}</td>"
        f"<td style='text-align:left'><b>{escape(hit.unit.name)}</b>{escape(_cut(hit.unit.detail, 60))}<br>"
        f"{escape(_cut(hit.unit.sentence, 140))}</td></tr>"
        for hit in hits
    )
    return f"<table>{heading('rank', 'cosine', '', 'function')}{rows}</table>"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
