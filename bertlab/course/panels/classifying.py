"""A panel of classifiers: a sentence of one's own, and what each of several models makes of it."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

from bertlab.course.panels.base import Panel, bar, line, panel
from bertlab.draw.palette import BLUE
from bertlab.errors import InputError

Classifier = Callable[[str], Sequence[float]]  # a text -> the probability of each label


def classify_panel(models: Mapping[str, Classifier], labels: Sequence[str], text: str) -> Panel:
    """A line of text, and for each model, by name, the probabilities of the labels."""

    def show(text: str) -> str:
        if not text.strip():
            raise InputError("the text is empty: write at least one word")
        return verdicts_html({name: model(text) for name, model in models.items()}, labels)

    return panel(show, text=line("text", text))


def verdicts_html(found: Mapping[str, Sequence[float]], labels: Sequence[str]) -> str:
    """A table: a row for each model, in each column the probability of a label as number and bar."""
    head = "".join(f"<th>{escape(label)}</th>" for label in labels)
    rows = "".join(
        f"<tr><td>{escape(name)}</td>{''.join(_cell(value) for value in values)}</tr>" for name, values in found.items()
    )
    return f"<table><tr><th></th>{head}</tr>{rows}</table>"


def _cell(probability: float) -> str:
    shown = f"<div>{probability:.1%}</div>{bar(140 * probability, BLUE)}"
    return f'<td><div style="width:150px">{shown}</div></td>'
