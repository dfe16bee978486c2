"""The predictions of a model for a data set, beside the labels, and what they are measured by."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from app.shared.page import progress
from app.shared.page.exports import Cell, Name
from app.shared.page.markdown import plain
from app.views.tasks.file.source import Data
from bertlab import Tokenizer
from bertlab.draw.percent import percent
from bertlab.evaluation.wording import bounds, meaning
from bertlab.explain.slices import words_of
from bertlab.model.base import PretrainedModel

AT_ONCE = 64  # examples between two looks at the Stop button
LETTERS = 300  # of a text in the table
METRICS = 4


@dataclass(frozen=True)
class Judged:
    """`table` has one row for each prediction so far, its index the number of the example; `known` are the numbers of
    those with a label that the model can give, which `measures` are of."""

    data: Data
    predictions: list[Any]
    table: pd.DataFrame
    known: list[int]
    measures: dict[str, float]

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of the text of each row."""
        return [words_of(self.data.kind.text(example)) for example in self.data.examples[: len(self.table)]]

    def cell(self) -> Cell:
        """Return a cell that makes the examples, without those that are not measured, and their predictions."""
        cell = self.data.code.copy()
        if 0 < len(self.known) < len(self.table):
            cell.let("examples", Name("[e for e in examples if task.knows(e, model.config)]"))
        cell.let("predictions", Name("list(task.predict(model, examples))"))
        return cell

    def pairs(self) -> tuple[list[Any], list[Any]]:
        """Return the measured examples and their predictions."""
        return [self.data.examples[i] for i in self.known], [self.predictions[i] for i in self.known]


def judge(data: Data) -> Judged:
    """Return the predictions so far. A long computation shows a bar and can be stopped."""

    def rows(model: PretrainedModel, tokenizer: Tokenizer, key: str) -> Iterator:
        for start in range(0, len(data.examples), AT_ONCE):
            yield from data.task.predict(model, data.examples[start : start + AT_ONCE])

    key = data.loaded.stamp, data.key, data.names
    kept = st.session_state.get("dataset_judged")
    if kept and kept[0] == key:
        return kept[1]
    predictions = progress.rows(rows, data.loaded, data.key, total=len(data.examples))
    with st.spinner("Measuring"):
        judged = measured(data, list(predictions))
    if len(predictions) == len(data.examples):
        st.session_state.dataset_judged = key, judged
    return judged


def measured(data: Data, predictions: list) -> Judged:
    kind, shown = data.kind, list(zip(data.examples, predictions, strict=False))
    config = data.loaded.model.config
    known = [i for i, (example, _) in enumerate(shown) if data.labelled and data.task.knows(example, config)]
    table = pd.DataFrame([kind.row(*pair) for pair in shown])
    if data.labelled:
        table.insert(list(table).index("predicted"), "label", [kind.label(example) for example, _ in shown])
        scores = {i: kind.score(*shown[i]) for i in known}
        table["score"] = pd.Series(scores, dtype=float).reindex(table.index)
    measures = data.task.measures([shown[i][0] for i in known], [shown[i][1] for i in known]) if known else {}
    return Judged(data, predictions, table, known, measures)


def show_measures(judged: Judged) -> None:
    """Show the main measures, with their intervals, beside a guess that needs no model."""
    say_unknown(judged)
    names = [name for name in judged.measures if not name.endswith(("_low", "_high")) and ":" not in name]
    with st.container(horizontal=True, gap="medium"):
        st.metric("Rows", f"{len(judged.table):,}", width="content")
        for name in names[:METRICS]:
            found = bounds(judged.measures, name)
            help = f"95% interval: {found}" if found else None
            words = meaning(name, judged.data.loaded.model.config.id2label.get(1, "")) or name
            st.metric(words[:1].upper() + words[1:], f"{judged.measures[name]:.3f}", help=help, width="content")
    if judged.known and (confusions := judged.data.task.confusions(*judged.pairs())):
        label, count = Counter(right for right, _ in confusions).most_common(1)[0]
        share = count / len(confusions)
        st.caption(f"Control: always “{plain(label)}” would be right in {percent(share)} of {len(confusions):,}.")


def say_unknown(judged: Judged) -> None:
    """Say which rows are not measured because the model knows no such label."""
    rows = len(judged.table)
    if not judged.data.labelled:
        text = "There are no labels, so nothing is measured: you see the predictions."
        st.info(text, icon=":material/label_off:")
    elif len(judged.known) < rows:
        unknown = judged.table["label"].drop(judged.known).value_counts().index[:3]
        named = ", ".join(f"“{plain(str(label)[:40])}”" for label in unknown)
        knows = ", ".join(map(str, list(judged.data.loaded.model.config.label2id)[:8]))
        st.warning(
            f"{rows - len(judged.known):,} of {rows:,} rows are not measured: the model cannot give their labels, such "
            f"as {named}. It knows {plain(knows)}.",
            icon=":material/label_off:",
        )
