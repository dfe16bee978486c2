"""The texts as points, one picture for each model, and where their labels come apart."""

from collections.abc import Sequence

import altair as alt
import pandas as pd
import streamlit as st

from app.pages.embeddings import cells
from app.pages.embeddings.clouds import METHODS, Cloud, asked
from app.pages.embeddings.pick import NEAR, pick, picked
from app.shared import progress, state
from app.shared.exports import exports
from bertlab.draw.charts.projection import YOURS, clickable, few_labels, projection_scatter, projection_table
from bertlab.explain.vectors import LayerMeasures, Neighbours, Projection, all_alike, project

FEW_TEXTS = 40  # below it one text more or less changes what is said
MISLEADING = (
    " keeps neighbours together, and nothing else: how far two clumps lie apart, how large they are and what the axes "
    "are mean nothing, and there may be clumps where the vectors have none. Trust the numbers, which are taken from "
    "all dimensions."
)


def show(clouds: Sequence[Cloud], measured: Sequence[Sequence[LayerMeasures]] | None) -> None:
    if measured:
        show_verdict(clouds, measured)
    number = picked(clouds[0].texts)
    charts, tables = [], []
    columns = st.columns(len(clouds), gap="medium")
    for column, cloud, flat in zip(columns, clouds, laid_flat(clouds), strict=True):
        table = projection_table(flat.points, cloud.texts.all_labels, cloud.texts.all_texts)
        charts.append(picture_of(cloud, table, flat.explained, number))
        tables.append(table.assign(model=cloud.loaded.name, layer=cloud.layer))
        with column:  # the first is on its way while the next is made
            show_panel(cloud, charts[-1])
    caption(clouds[0])
    code = cells.projection(*asked(clouds), clouds[0].look.method)
    exports("embeddings", pd.concat(tables), code, alt.hconcat(*charts))


def laid_flat(clouds: Sequence[Cloud]) -> list[Projection]:
    """All of them, with a Stop button where that takes long."""
    method = clouds[0].look.method
    if method == "pca":
        return [project(cloud.here) for cloud in clouds]
    key = "lay_flat", method, tuple((cloud.key, cloud.layer) for cloud in clouds)
    vectors = [cloud.here for cloud in clouds]
    first = "; the first time on a server it is compiled" if method == "umap" else ""
    said = f"Laying the vectors flat with {METHODS[method]}{first}"
    return progress.waited(key, lambda: [project(here, method) for here in vectors], said)


def show_verdict(clouds: Sequence[Cloud], measured: Sequence[Sequence[LayerMeasures]]) -> None:
    """In words and numbers, model by model: at which layers the labels come apart."""
    found = [[layer.neighbours for layer in layers] for layers in measured]
    if None in (layer for layers in found for layer in layers):
        st.info("Give at least two labels with four texts each to see where they come apart.", icon=":material/label:")
        return
    labels = sorted(set(clouds[0].texts.labels))
    named = " and ".join(f"*{state.plain(label)}*" for label in labels)
    st.subheader(f"Where do {named if len(labels) == 2 else f'the {len(labels)} labels'} come apart?", anchor=False)
    lines = [verdict(cloud, layers) for cloud, layers in zip(clouds, found, strict=True)]
    st.markdown("\n".join(f"- {line}" for line in lines))
    said = (
        "In brackets: how often a vote of the five nearest texts names a text's label. Guessing the commonest does so "
        f"in {found[0][0].chance:.0%}; “apart” is from half of the way between that and always."
    )
    st.caption(said)
    count = len(clouds[0].texts.labels)
    if count < FEW_TEXTS:
        few = f"There are only {count} texts, and each of them is {1 / count:.0%}: a hint, not more."
        st.warning(few, icon=":material/warning:")
    if clouds[-1].loaded.random and any(layer.separates for layer in found[-1]):
        st.caption(
            "Random weights tell them apart as well: the words differ from label to label, and even layers that learnt "
            "nothing carry words into the vector. Only what goes beyond that was learned."
        )


def verdict(cloud: Cloud, layers: Sequence[Neighbours]) -> str:
    apart = [number for number, layer in enumerate(layers) if layer.separates]
    here = f"layer {cloud.layer}, drawn below: {layers[cloud.layer].accuracy:.0%}"
    return f"In **{state.plain(cloud.loaded.name)}** at **{spelled(apart)}** ({here})."


def spelled(layers: Sequence[int]) -> str:
    """[] "no layer", [3] "layer 3", [1, 2, 3] "layers 1 to 3", [0, 2] "layers 0 and 2"."""
    if not layers:
        return "no layer"
    if len(layers) == 1:
        return f"layer {layers[0]}"
    if len(layers) > 2 and layers[-1] - layers[0] == len(layers) - 1:
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layers {', '.join(map(str, layers[:-1]))} and {layers[-1]}"


def picture_of(
    cloud: Cloud, table: pd.DataFrame, explained: tuple[float, float] | None, number: int | None
) -> alt.LayerChart:
    near = [] if number is None else [place + 1 for place, _ in cloud.nearest(number - 1, NEAR)]
    name, layer = cloud.loaded.name, f"layer {cloud.layer}"
    return projection_scatter(table, explained, name, layer, picked=number, near=near)


def show_panel(cloud: Cloud, chart: alt.LayerChart) -> None:
    if all_alike(cloud.here):
        st.markdown(f"**{state.plain(cloud.title)}**")
        start = cloud.layer == 0 and cloud.look.pooling == "cls"
        why = (
            "before the first layer [CLS] is the same vector in every text." if start else "their vectors are the same."
        )
        st.info(f"All points are one: {why}")
        return
    key = f"embeddings_chart {cloud.loaded.stamp}"

    def clicked() -> None:
        chosen = st.session_state[key].selection.get("point")
        if chosen:
            pick(cloud.texts, int(chosen[0]["number"]))

    said = f"{len(cloud.texts.all_texts)} texts as points, by label, in {cloud.title}"
    st.altair_chart(clickable(chart), width="stretch", key=key, on_select=clicked, selection_mode="point", alt=said)


def caption(cloud: Cloud) -> None:
    """How to read the pictures, and what is not on them."""
    said = "Each point is one text: point at it to read it, click it to see its nearest texts below."
    if cloud.texts.yours:
        said += f" Stars are {YOURS}."
    if cloud.look.method == "pca":
        said += " The axes tell how much of the variance they keep; the rest is not on the picture."
    else:
        said += f" **{METHODS[cloud.look.method]}**{MISLEADING}"
    if few_labels(cloud.texts.labels) != list(cloud.texts.labels):
        said += " Only the commonest labels have a colour of their own."
    st.caption(said)
