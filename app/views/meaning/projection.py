"""The texts as points in a 2-D projection, one picture for each model."""

from collections.abc import Sequence

import altair as alt
import pandas as pd
import streamlit as st

from app.shared.page import layout, progress
from app.shared.page.exports import Name, exports
from app.shared.page.markdown import plain
from app.views.meaning.clouds import METHODS, Cloud, begun
from app.views.meaning.nearest_texts import NEAREST, pick_key, picked
from bertlab.draw.charts.base import label_key
from bertlab.draw.charts.projection import (
    clickable,
    drawn_labels,
    few_labels,
    projection_scatter,
    projection_table,
    without_legend,
)
from bertlab.explain.vectors import Projection, all_alike, project

MISLEADING = (
    " keeps neighbours together, and nothing else. The size of a clump, the distance between two of them and the axes "
    "mean nothing, and there may be clumps where the vectors have none. Trust the numbers, which are measured in all "
    "dimensions."
)


def show(clouds: Sequence[Cloud]) -> None:
    number = picked(clouds[0].texts)
    charts, tables = [], []
    st.html(label_key(drawn_labels(clouds[0].texts.all_labels)))
    columns = st.columns(len(clouds), gap="medium")  # first, or a bar below would move them
    for column, cloud, projected in zip(columns, clouds, projections(clouds), strict=True):
        table = projection_table(projected.points, cloud.texts.all_labels, cloud.texts.all_texts)
        near = [] if number is None else [index + 1 for index, _ in cloud.nearest(number - 1, NEAREST)]
        names = cloud.loaded.name, f"layer {cloud.layer}"
        charts.append(projection_scatter(table, projected.explained, *names, picked=number, near=near))
        tables.append(table.assign(model=cloud.loaded.name, layer=cloud.layer))
        with column:  # the first is on its way while the next is made
            show_panel(cloud, charts[-1])
    caption(clouds[0])
    exports("embeddings", pd.concat(tables), code_of(clouds), alt.hconcat(*charts))


def code_of(clouds: Sequence[Cloud]) -> str:
    (cell, vectors), panels = begun(clouds), []
    for number, (cloud, each) in enumerate(zip(clouds, vectors, strict=True), 1):
        projected = cell.let(f"projected_{number}", cell.call(project, each, cloud.choices.method))
        table = cell.call(projection_table, Name(f"{projected}.points"), Name("labels"), Name("texts"))
        options = Name(f"{projected}.explained"), cloud.loaded.name, f"layer {cloud.layer}"
        panels.append(cell.call(projection_scatter, table, *options))
    return cell.beside(panels)


def projections(clouds: Sequence[Cloud]) -> list[Projection]:
    """Return all projections; those that take long can be stopped."""
    method = clouds[0].choices.method
    if method == "pca":
        return [project(cloud.here) for cloud in clouds]
    key = "project", method, tuple((cloud.key, cloud.layer) for cloud in clouds)
    first = "; on its first use on a server it is compiled" if method == "umap" else ""
    message = f"Projecting the vectors with {METHODS[method]}{first}"
    return progress.waited(key, lambda: [project(cloud.here, method) for cloud in clouds], message)


def show_panel(cloud: Cloud, chart: alt.LayerChart) -> None:
    if all_alike(cloud.here):
        st.markdown(f"**{plain(cloud.title)}**")
        embeddings = cloud.layer == 0 and cloud.choices.pooling == "cls"
        why = "in the embeddings [CLS] has the same vector in every text" if embeddings else "their vectors are equal"
        st.info(f"All points coincide: {why}.")
        return
    key = f"meaning_chart {cloud.loaded.stamp}"

    def clicked() -> None:
        chosen = st.session_state[key].selection.get("point")
        if chosen:
            st.session_state[pick_key(cloud.texts)] = int(chosen[0]["number"])

    alt = f"{len(cloud.texts.all_texts)} texts as points, by label, in {cloud.title}"
    layout.show_chart(clickable(without_legend(chart)), alt, key=key, on_select=clicked, selection_mode="point")


def caption(cloud: Cloud) -> None:
    """Say how to read the pictures, and what they cannot show."""
    text = "Each point is a text: point at it to read it."
    if cloud.choices.method == "pca":
        text += " The axes say which share of the variance they keep; the picture does not show the rest."
    else:
        text += f" **{METHODS[cloud.choices.method]}**{MISLEADING}"
    if few_labels(cloud.texts.labels) != list(cloud.texts.labels):
        text += " Only the commonest labels have their own colours."
    st.caption(text)
