"""Confusion matrix: which label is taken for which."""

import streamlit as st

from app.shared.page import layout
from app.shared.page.cell import Name
from app.shared.page.exports import exports
from app.views.tasks.file.judged import Judged
from bertlab.draw.charts.dataset import confusion_chart, confusion_table
from bertlab.errors import InputError
from bertlab.evaluation.report import REST, confusion_counts

WHAT = {
    "text label": "",
    "word labels": " Each word counts once, by the kind of name it is part of.",
    "answer": " Here: whether there is an answer at all.",
}


def show(judged: Judged) -> None:
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
