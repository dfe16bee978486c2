"""What a flat picture cannot tell, layer by layer: neighbours that share a label, silhouette, anisotropy."""

from collections.abc import Sequence

import altair as alt
import streamlit as st

from app.pages.embeddings import cells
from app.pages.embeddings.clouds import Cloud, asked
from app.shared.exports import exports
from bertlab.draw.charts.projection import layer_lines, measure_table
from bertlab.explain.vectors import LayerMeasures

MEANINGS = {
    "accuracy": "How often a vote of the five nearest texts names a text's label (cross-validated). The dashed line is "
    "guessing the commonest.",
    "silhouette": "How much nearer a text lies to its own label than to the next: 1 is tight and far apart, 0 mixed.",
    "anisotropy": "The mean cosine between two texts. Near 1, all vectors point the same way, whatever the texts say.",
}


def show(clouds: Sequence[Cloud], measured: Sequence[Sequence[LayerMeasures]]) -> None:
    st.subheader("Layer by layer", anchor=False)
    st.markdown(
        "Measured in all dimensions. Of the labels, only what lies above the line of random weights was learned."
    )
    named = {cloud.loaded.name: layers for cloud, layers in zip(clouds, measured, strict=True)}
    table = measure_table(named)
    layer = clouds[0].layer
    guess = measured[0][0].neighbours
    chances = {"accuracy": guess and guess.chance}
    charts = {
        name: layer_lines(table, name, layer, chances.get(name)) for name in MEANINGS if table[name].notna().all()
    }
    for column, (name, chart) in zip(st.columns(len(charts), gap="medium"), charts.items(), strict=True):
        with column:
            st.altair_chart(chart, width="stretch", alt=f"{name} by layer: {', '.join(named)}")
            st.caption(MEANINGS[name])
    code = cells.measures(*asked(clouds, yours=False))
    exports("embeddings-by-layer", table, code, alt.hconcat(*charts.values()))
