"""What a 2-D projection cannot show: how often neighbours name the label, in all dimensions."""

from collections.abc import Sequence

import streamlit as st

from app.shared.model import models
from app.shared.page import layout
from app.shared.page.exports import Name, exports
from app.shared.page.markdown import plain
from app.views.meaning.clouds import Cloud, begun, measures
from bertlab.draw.charts.projection import layer_lines, measure_table
from bertlab.draw.percent import percent
from bertlab.explain.vectors import LayerMeasures, Neighbours, layer_measures

FEW_TEXTS = 40  # with fewer, a single text changes the verdict
WHY_NOT = (
    " Pretraining never asks this vector for the label: it asks for hidden words, and some models for the next "
    "sentence too. Fine-tuning, or the pooling that a sentence encoder was trained with, can change that."
)

GUESSING = "always guessing one label"


def show(clouds: Sequence[Cloud]) -> None:
    measured = [measures(cloud) for cloud in clouds]
    found = [[layer.neighbours for layer in layers if layer.neighbours] for layers in measured]
    if not all(found):
        text = "Give at least two labels with four texts each to see whether they lie apart."
        st.info(text, icon=":material/label:")
        return
    show_verdict(clouds, found)
    show_layers(clouds, measured, found[0][0].chance)


def show_verdict(clouds: Sequence[Cloud], found: Sequence[Sequence[Neighbours]]) -> None:
    """Say at the drawn layer how often neighbours name the label, beside both controls."""
    st.subheader("Do texts with one label lie together?", anchor=False)
    here = [(cloud, layers[cloud.layer]) for cloud, layers in zip(clouds, found, strict=True)]
    rows = [(cloud.loaded.name, one.accuracy) for cloud, one in here] + [(GUESSING, here[0][1].chance)]
    with st.container(horizontal=True, gap="large"):
        for name, share in rows:
            st.metric(models.readable(name), percent(share), width="content")
    st.caption("How often a vote of the five nearest texts, in all dimensions, names a text's label (cross-validated).")
    if clouds[-1].loaded.random and clouds[1:]:
        st.markdown(against_controls(clouds, found))
    caution(clouds, found)


def against_controls(clouds: Sequence[Cloud], found: Sequence[Sequence[Neighbours]]) -> str:
    """Say at the drawn layer which models beat both controls, and why the others may not: random weights, which stand
    last, and always guessing the commonest label."""
    control, parts, behind = found[-1][clouds[-1].layer], [], False
    best, which = max((control.accuracy, "random weights"), (control.chance, GUESSING), key=lambda one: one[0])
    for cloud, layers in zip(clouds[:-1], found[:-1], strict=True):
        here, name = layers[cloud.layer], f"**{plain(cloud.loaded.name)}**"
        gain = here.accuracy - best
        behind |= (no_gain := gain <= max(here.spread, control.spread))
        parts.append(
            f"{name} is not clearly better than {which}: nothing shows that this picture was learned"
            if no_gain
            else f"{name} is {100 * gain:.0f} points better than {which}: that much was **learned**"
        )
    return f"{'; '.join(parts)}.{WHY_NOT if behind else ''}"


def caution(clouds: Sequence[Cloud], found: Sequence[Sequence[Neighbours]]) -> None:
    """Warn if there are few texts, or if random weights separate the labels too."""
    count = len(clouds[0].texts.labels)
    if count < FEW_TEXTS:
        few = f"There are only {count} texts, so each one counts for {percent(1 / count)}."
        st.warning(f"{few} Take this as a hint, no more.", icon=":material/warning:")
    if clouds[-1].loaded.random and any(layer.separates for layer in found[-1]):
        st.caption(
            "Random weights separate the labels as well: the words differ from label to label, and even untrained "
            "layers carry words into the vector. Only what exceeds that was learned."
        )


def show_layers(clouds: Sequence[Cloud], measured: Sequence[Sequence[LayerMeasures]], chance: float) -> None:
    """Draw how often neighbours name the label at each layer, a line for each model."""
    named = {cloud.loaded.name: layers for cloud, layers in zip(clouds, measured, strict=True)}
    table, layer = measure_table(named), clouds[0].layer
    chart = layer_lines(table, layer, chance)
    layout.show_chart(chart, f"How often neighbours name the label, by layer: {', '.join(named)}")
    st.caption("Dashed: always guessing the commonest label.")
    cell, vectors = begun(clouds, yours=False)
    layers = [Name(f"list({cell.call(layer_measures, each, Name('labels'))})") for each in vectors]
    made = cell.call(measure_table, dict(zip(named, layers, strict=True)))
    exports("embeddings-by-layer", table, cell.picture(layer_lines, made, layer, chance), chart)
