"""Notebook cells of the data sets; a test runs every one."""

from collections.abc import Mapping

from bertlab.corpora.labelled.columns import Columns

MEASURED = """predictions = list(task.predict(model, examples))
print(task.measures(examples, predictions))"""
PREDICTED = "predictions = list(task.predict(model, examples))"


def made(model: str, maker: str, count: int) -> str:
    return f"""from bertlab.corpora import storyworld
from bertlab.tasks.registry import open_task

model, task = open_task({model!r})
examples = list(storyworld.{maker}(seed=0, count={count}, split="test"))[:{count}]
{MEASURED}"""


def film_reviews(model: str) -> str:
    return f"""from bertlab.corpora.labelled.tabular import film_reviews
from bertlab.tasks.registry import open_task

model, task = open_task({model!r})
examples = film_reviews()
{MEASURED}"""


def file(model: str, name: str, columns: Columns, labelled: bool, problem: str) -> str:
    pairs = columns.pair is not None
    return f"""from pathlib import Path
from bertlab.corpora.labelled.columns import Columns
from bertlab.corpora.reading import Skipped
from bertlab.corpora.labelled.tabular import ReadOptions
from bertlab.tasks.registry import open_task

model, task = open_task({model!r})
columns = {columns!r}
options = ReadOptions(columns, {problem!r}, {pairs}, {labelled}, skipped=Skipped())
examples = list(task.read_examples(Path({name!r}), options))
{MEASURED if labelled else PREDICTED}"""


def renamed(code: str, names: Mapping[str, str], field: str = "label=names.get(e.label, e.label)") -> str:
    """Return the cell with the model's names for the labels of its examples, which `field` sets."""
    lines = f"names = {names!r}\nexamples = [replace(e, {field}) for e in examples]\n"
    return f"from dataclasses import replace\n{code.replace(PREDICTED, lines + PREDICTED)}" if names else code


def confusions(data: str) -> str:
    return f"""{data}
from bertlab.draw.charts.dataset import confusion_chart, confusion_table
from bertlab.evaluation.report import confusion_counts

confusion_chart(confusion_table(*confusion_counts(task.confusions(examples, predictions))))"""


SCORES = {  # by the task of models.TASKS: unit, text and score of an example and its prediction
    "text label": ("accuracy", 'e.text if e.pair is None else f"{e.text} {e.pair}"', "float(e.label == p.label)"),
    "word labels": ("sentences all right", '" ".join(e.words)', "float(e.labels == p.labels)"),
    "answer": ("F1", "e.question", "answer_score((e.answer, *e.others), p.text)[1]"),
}


def slices(data: str, task: str, words: bool) -> str:
    function, (unit, text, score) = "by_word" if words else "by_length", SCORES[task]
    more = "\nfrom bertlab.tasks.measures import answer_score" if task == "answer" else ""
    return f"""{data}
from bertlab.draw.charts.dataset import slice_bars, slice_table
from bertlab.explain.slices import {function}{more}

texts = [{text} for e in examples]
scores = [{score} for e, p in zip(examples, predictions)]
slice_bars(slice_table({function}(texts, scores), {unit!r}), sum(scores) / len(scores))"""
