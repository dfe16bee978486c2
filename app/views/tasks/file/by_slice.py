"""Slices: on texts of which length, and with which words, the model does worst."""

import pandas as pd
import streamlit as st

from app.shared.page import layout
from app.shared.page.exports import exports
from app.views.tasks.file import cells
from app.views.tasks.file.judged import Judged
from bertlab.draw.charts.dataset import slice_bars, slice_table
from bertlab.draw.percent import percent
from bertlab.errors import InputError
from bertlab.explain.slices import Slice, by_length, by_word

FEW = 20  # texts; with fewer, slices say nothing


def show(judged: Judged) -> None:
    scores = judged.table.get("score", pd.Series(dtype=float)).dropna()
    if len(scores) < FEW:
        raise InputError(f"slices need at least {FEW} rows with labels that the model knows")
    texts = [judged.data.kind.text(judged.data.examples[i]) for i in scores.index]
    values, mean = scores.tolist(), float(scores.mean())
    unit = judged.data.kind.unit
    st.markdown(f"The dashed line is the mean of all {len(values):,} rows, **{percent(mean)}** ({unit}).")
    st.subheader("By length", anchor=False)
    show_slices(judged, by_length(texts, values), mean, words=False)
    st.subheader("By word", anchor=False)
    show_slices(judged, by_word(texts, values), mean, words=True)
    st.caption(
        "The words whose rows lie furthest below the mean come first. Of some hundred words a few lie three standard "
        "errors below it by chance alone: before you believe in one, look at its rows (*With the word*, on *Rows*) or "
        "at other data."
    )


def show_slices(judged: Judged, slices: list[Slice], mean: float, words: bool) -> None:
    if not slices:
        st.caption("No word that stands in ten rows or more lies a standard error below the mean.")
        return
    table = slice_table(slices, judged.data.kind.unit)
    bars, name = slice_bars(table, mean), "word" if words else "length"
    worst = min(slices, key=lambda one: one.score)
    layout.show_chart(bars, f"Score by {name}; the lowest: {worst.name}, {percent(worst.score)} of {worst.count} rows")
    exports(f"slices-by-{name}", table, cells.slices(judged.data.code, judged.data.kind.task, words), bars)
