"""Altair charts of a data set with predictions: what is taken for what, and scores by slice."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from bertlab.draw.charts.base import PLAIN, tips
from bertlab.draw.palette import BLUE, GREY
from bertlab.draw.percent import percent
from bertlab.explain.slices import Slice

WIDE, CELL, ROW = 80, 40, 26  # pixels


def confusion_table(labels: Sequence[str], counts: np.ndarray) -> pd.DataFrame:
    """One row a cell: the right label, the predicted one, how often, and its share of the right label."""
    totals = np.maximum(counts.sum(1), 1)
    rows = [
        (right, predicted, int(counts[i, j]), counts[i, j] / totals[i])
        for i, right in enumerate(labels)
        for j, predicted in enumerate(labels)
    ]
    return pd.DataFrame(rows, columns=["right", "predicted", "count", "share"])


def confusion_chart(table: pd.DataFrame) -> alt.LayerChart:
    """Counts in their cells; colours are shares of the row."""
    labels = list(dict.fromkeys(table["right"]))
    axis = alt.Axis(labelLimit=150, labelFontSize=12, **PLAIN)
    base = alt.Chart(table.assign(shown=table["share"].map(percent))).encode(
        x=alt.X(
            "predicted:N",
            scale=alt.Scale(domain=labels),  # not sort: Vega does not read a list with "if"
            title="predicted",
            axis=alt.Axis(labelAngle=0, labelAlign="center", labelLimit=WIDE, labelFontSize=12, **PLAIN),
        ),
        y=alt.Y("right:N", scale=alt.Scale(domain=labels), title="right", axis=axis),
        tooltip=[*tips("right", "predicted", "count"), alt.Tooltip("shown:N", title="share of row")],
    )
    colour = alt.Color("share:Q", title="share of row", scale=alt.Scale(scheme="cividis", domain=[0, 1]))
    ink = alt.when(alt.datum.share > 0.5).then(alt.value("black")).otherwise(alt.value("white"))
    cells = base.mark_rect().encode(color=colour)
    numbers = base.mark_text(fontSize=12).encode(text=alt.Text("count:Q"), color=ink)
    return (cells + numbers).properties(width=alt.Step(WIDE), height=alt.Step(CELL), autosize="pad")


def slice_table(slices: Sequence[Slice], unit: str) -> pd.DataFrame:
    """One row a slice; `unit` names its score."""
    rows = [(one.name, one.count, one.score, one.distance) for one in slices]
    return pd.DataFrame(rows, columns=["slice", "rows", unit, "standard errors from the mean"])


def slice_bars(table: pd.DataFrame, mean: float) -> alt.LayerChart:
    """The score of each slice as a bar, with the mean of all as a line."""
    unit = table.columns[2]
    bars = (
        alt.Chart(table.assign(shown=table[unit].map(percent)))
        .mark_bar(color=BLUE)
        .encode(
            x=alt.X(f"{unit}:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=5)),
            y=alt.Y("slice:N", sort=None, title=None, axis=alt.Axis(labelLimit=150, labelFontSize=12, **PLAIN)),
            tooltip=[*tips("slice", "rows"), alt.Tooltip("shown:N", title=unit)],
        )
    )
    line = alt.Chart(pd.DataFrame({"mean": [mean], "shown": [percent(mean)]})).encode(
        x=alt.X("mean:Q"), tooltip=alt.Tooltip("shown:N", title="mean")
    )
    return (bars + line.mark_rule(color=GREY, strokeDash=[4, 3], strokeWidth=2)).properties(height=alt.Step(ROW))
