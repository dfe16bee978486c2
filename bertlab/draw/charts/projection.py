"""Altair charts of texts as points, and of measures layer by layer. Backgrounds stay clear, for light and dark."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from bertlab.draw.charts.base import Style, label_scales, styles_of, tips
from bertlab.draw.palette import BLUE, GREY, OKABE_ITO, ORANGE
from bertlab.draw.percent import percent
from bertlab.explain.vectors import LayerMeasures

YOURS = "your sentences"  # the label of what a reader adds to a set
OTHERS = "other labels"
MOST_LABELS = 7  # more than this nobody tells apart
LETTERS = 300  # of a text that is pointed at
MARK = OKABE_ITO[4]  # of the reader's own sentences, so no label has it
COLOURS = [colour for colour in OKABE_ITO if colour != MARK]
STAR = "M0,-1 L.25,-.31 L.95,-.31 L.4,.12 L.59,.81 L0,.4 L-.59,.81 L-.4,.12 L-.95,-.31 L-.25,-.31 Z"


def projection_table(points: np.ndarray, labels: Sequence[str], texts: Sequence[str]) -> pd.DataFrame:
    """One row a text: its number from 1, x and y of the projection (N, 2), label, text."""
    columns = {"x": points[:, 0], "y": points[:, 1], "label": list(labels), "text": list(texts)}
    return pd.DataFrame({"number": range(1, len(points) + 1), **columns})


def projection_scatter(
    table: pd.DataFrame,
    explained: tuple[float, float] | None,
    title: str = "",
    subtitle: str = "",
    picked: int | None = None,
    near: Collection[int] = (),
) -> alt.LayerChart:
    """The projected texts; each label has a colour and a shape, axes say how much variance they keep.

    Of the texts, by number, the `picked` one has a thick ring and those `near` it thin ones.
    """
    texts = [text if len(text) <= LETTERS else f"{text[:LETTERS]} …" for text in table["text"]]
    table = table.assign(shown=few_labels(table["label"]), text=texts)
    both: dict = dict(axis=_AXIS, scale=alt.Scale(zero=False, padding=14))
    base = alt.Chart(table).encode(
        x=alt.X("x:Q", title=explained and f"1st direction: {percent(explained[0])} of the variance", **both),
        y=alt.Y("y:Q", title=explained and f"2nd direction: {percent(explained[1])}", **both),
        tooltip=tips("number", "label", "text"),
    )
    colour, shape = label_scales("shown:N", drawn_labels(list(table["label"])), _LEGEND)
    is_yours = alt.datum.label == YOURS
    size = alt.condition(is_yours, alt.value(380), alt.value(65))
    points = base.mark_point(filled=True, opacity=0.8).encode(color=colour, shape=shape, size=size)
    heading = alt.Title(title, subtitle=subtitle, anchor="start", fontSize=14, subtitleFontSize=13, subtitleColor=GREY)
    rings = [_ring(base, list(near), 210, 1.5)] if near else []
    rings += [_ring(base, [picked], 330, 3.5)] if picked else []
    if YOURS in set(table["label"]):  # a star alone is hard to find among a hundred points
        named = base.transform_filter(is_yours)
        rings.append(named.mark_text(text="yours", dy=-18, fontSize=14, fontWeight="bold", color=MARK))
    return alt.layer(points, *rings).properties(title=heading, height=360)


_LEGEND = alt.Legend(  # three beside each other
    title=None, orient="bottom", columns=3, labelFontSize=12, labelLimit=150, symbolSize=90, columnPadding=5
)
_AXIS = alt.Axis(labels=False, ticks=False, domain=False, gridOpacity=0.4, tickCount=5)


def drawn_labels(labels: Sequence[str]) -> dict[str, Style]:
    """Return colour and shape of each label that is drawn, in the order of the legend; the reader's own have a star."""
    names = set(few_labels(labels))
    others = [*sorted(names - {OTHERS, YOURS}), *names & {OTHERS}]
    return styles_of(others, COLOURS) | {name: (MARK, STAR) for name in names & {YOURS}}


def _ring(base: alt.Chart, numbers: list[int], size: int, width: float) -> alt.Chart:
    chosen = base.transform_filter(alt.FieldOneOfPredicate("number", numbers))
    return chosen.mark_point(shape="circle", size=size, strokeWidth=width, color=GREY, opacity=1)


def few_labels(labels: Sequence[str]) -> list[str]:
    """The labels, all but the commonest as OTHERS where there are more than colours."""
    counts = Counter(label for label in labels if label != YOURS)
    if len(counts) <= MOST_LABELS:
        return list(labels)
    kept = {YOURS, *(label for label, _ in counts.most_common(MOST_LABELS - 1))}
    return [label if label in kept else OTHERS for label in labels]


def without_legend(chart: alt.LayerChart) -> alt.LayerChart:
    """The same scatter without its legend, for several side by side under one label_key."""
    chart = chart.copy()
    marks = chart.layer[0].encoding
    marks.color.legend = marks.shape.legend = None
    return chart


def clickable(chart: alt.LayerChart) -> alt.LayerChart:
    """The same scatter, whose points can be clicked: the parameter "point" then holds the number of a text."""
    return chart.add_params(alt.selection_point(name="point", fields=["number"], on="click", nearest=False))


def measure_table(measured: Mapping[str, Sequence[LayerMeasures]]) -> pd.DataFrame:
    """One row a model and layer: how often neighbours name the label, with spread, and anisotropy."""
    rows = [
        (model, layer, here and here.accuracy, here and here.spread, found.anisotropy)
        for model, layers in measured.items()
        for layer, found in enumerate(layers)
        for here in [found.neighbours]
    ]
    return pd.DataFrame(rows, columns=["model", "layer", "accuracy", "spread", "anisotropy"])


def layer_lines(table: pd.DataFrame, layer: int, chance: float) -> alt.LayerChart:
    """How often neighbours name the label, layer by layer: a line for each model of a measure_table.

    The band marks `layer`, the dashed line what guessing would give. The last model is grey.
    """
    names = list(table["model"].unique())
    colours = alt.Scale(domain=names, range=[BLUE, ORANGE, GREY][: len(names) - 1] + [GREY])
    layers = alt.X("layer:O", title="layer (0 = embeddings)", axis=_LAYERS)
    axis = alt.Axis(gridOpacity=0.4, tickCount=5, format="%")
    y = alt.Y("accuracy:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=axis)
    lines = (
        alt.Chart(table, title=alt.Title("label named by 5 neighbours", anchor="start", fontSize=14))
        .mark_line(point=alt.OverlayMarkDef(size=60, filled=True), strokeWidth=2.5)
        .encode(
            x=layers,
            y=y,
            color=alt.Color("model:N", scale=colours, legend=_LINES),
            tooltip=tips("model", "layer", ("accuracy", ".3f")),
        )
    )
    band = alt.Chart(pd.DataFrame({"layer": [layer]})).mark_rule(color=GREY, opacity=0.25, strokeWidth=14)
    dashed = alt.Chart(pd.DataFrame({"chance": [chance]})).mark_rule(strokeDash=[5, 4], color=GREY).encode(y="chance:Q")
    return alt.layer(band.encode(x=alt.X("layer:O")), dashed, lines).properties(height=320)


_LAYERS = alt.Axis(labelAngle=0, grid=False, ticks=False, domain=False)
_LINES = alt.Legend(title=None, orient="top", columns=2, labelFontSize=13, labelLimit=300)
