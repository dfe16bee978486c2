"""Where a model is wrong: on texts of which length, with which words (slices), and which label it takes for which."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from app.shared.page import layout
from app.shared.page.exports import Name, exports
from app.views.tasks.file.judged import Judged
from bertlab.draw.charts.dataset import confusion_chart, confusion_table, slice_bars, slice_table
from bertlab.draw.percent import percent
from bertlab.errors import InputError
from bertlab.evaluation.report import REST, confusion_counts
from bertlab.explain.slices import Slice, by_length, by_word
from bertlab.tasks.measures import answer_score
from bertlab.tasks.token import TokenPrediction

EACH = {  # text and score of an example and its prediction, in a cell
    "text label": ('e.text if e.pair is None else f"{e.text} {e.pair}"', "float(e.label == p.label)"),
    "word labels": ('" ".join(e.words)', "float(TokenPrediction(e.words, e.labels, None).entities == p.entities)"),
    "answer": ("e.question", "answer_score((e.answer, *e.others), p.text)[1]"),
}
WHAT = {
    "text label": "",
    "word labels": " Each word counts once, by the kind of name it is part of.",
    "answer": " Here: whether there is an answer at all.",
}
CUTS = {"By length": by_length, "By word": by_word}
NEEDED = {"word labels": TokenPrediction, "answer": answer_score}  # by the scores of a cell
FEW = 20  # texts; with fewer, slices say nothing


def show_slices(judged: Judged) -> None:
    scores = judged.table.get("score", pd.Series(dtype=float)).dropna()
    if len(scores) < FEW:
        raise InputError(f"slices need at least {FEW} rows with labels that the model knows")
    texts = [judged.data.kind.text(judged.data.examples[i]) for i in scores.index]
    values, mean, unit = scores.tolist(), float(scores.mean()), judged.data.kind.unit
    st.markdown(f"The dashed line is the mean of all {len(values):,} rows, **{percent(mean)}** ({unit}).")
    for title, cut in CUTS.items():
        st.subheader(title, anchor=False)
        show_slice(judged, cut, texts, values, mean)


def show_slice(judged: Judged, cut: Callable, texts: list[str], values: list[float], mean: float) -> None:
    """Show the score of each slice."""
    slices: list[Slice] = cut(texts, values)
    if not slices:
        st.caption("No word that stands in ten rows or more lies a standard error below the mean.")
        return
    table = slice_table(slices, judged.data.kind.unit)
    bars, name = slice_bars(table, mean), cut.__name__.removeprefix("by_")
    worst = min(slices, key=lambda one: one.score)
    layout.show_chart(bars, f"Score by {name}; the lowest: {worst.name}, {percent(worst.score)} of {worst.count} rows")
    cell, task = judged.cell(), judged.data.kind.task
    text, score = EACH[task]
    if task in NEEDED:
        cell.use(NEEDED[task])
    named = cell.let("texts", Name(f"[{text} for e in examples]"))
    scores = cell.let("scores", Name(f"[{score} for e, p in zip(examples, predictions)]"))
    made = cell.call(slice_table, cell.call(cut, named, scores), judged.data.kind.unit)
    code = cell.picture(slice_bars, made, Name(f"sum({scores}) / len({scores})"))
    if cut is by_word:
        st.caption(
            "The words whose rows lie furthest below the mean come first. Of some hundred words a few lie three "
            "standard errors below it by chance alone: look at their rows (*With the word*, on *Rows*)."
        )
    exports(f"slices-by-{name}", table, code, bars)


def show_confusion(judged: Judged) -> None:
    pairs = judged.data.task.confusions(*judged.pairs()) if judged.known else None
    if not pairs:
        raise InputError("there is nothing to confuse: this needs rows with classes as labels, or without an answer")
    st.markdown(f"Rows are right labels, columns predicted ones.{WHAT[judged.data.kind.task]}")
    labels, counts = confusion_counts(pairs)
    table = confusion_table(labels, counts)
    chart = confusion_chart(table)
    wrong = table[table["right"] != table["predicted"]].nlargest(1, "count")
    spoken = "".join(f"; most often {row.right} is taken for {row.predicted}" for row in wrong.itertuples())
    layout.show_chart(chart, f"Confusion matrix of {len(labels)} labels{spoken}", width="content")
    if REST in labels:
        st.caption(f"“{REST}” counts rare labels together.")
    cell = judged.cell()
    cell.let("labels, counts", cell.call(confusion_counts, Name("task.confusions(examples, predictions)")))
    code = cell.picture(confusion_chart, cell.call(confusion_table, Name("labels"), Name("counts")))
    exports("confusions", table, code, chart)
