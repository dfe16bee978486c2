"""Altair charts and tables of heads switched off, and of measures of what a token takes from the others."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from bertlab.draw.charts.base import tips, token_names
from bertlab.draw.percent import percent, signed
from bertlab.explain.attention.flow import Measures

CELL = "cell"  # the selection of heads in a map: what Streamlit calls the clicked cells
_BARE = dict(grid=False, ticks=False, domain=False, labelFlush=False, labelOverlap=False)
_WRITTEN = 8  # heads in a row: with more, the cells have no room for numbers
_DIVERGING = dict(scheme="blueorange", reverse=True)  # orange below 0, blue above

Rows = Sequence[Sequence[float]]  # L changes of A heads each


def knockout_table(maps: Mapping[str, Rows]) -> pd.DataFrame:
    """One row a model and head, layers and heads counted from 1: the change in ln p when it is off, in nats."""
    rows = [
        (name, layer, head, change)
        for name, rows in maps.items()
        for layer, changes in enumerate(rows, 1)
        for head, change in enumerate(changes, 1)
    ]
    return pd.DataFrame(rows, columns=["model", "layer", "head", "change"])


def largest(*maps: Rows) -> float:
    """The end of a scale that holds all changes of some maps; at least a hundredth of a nat, which is nothing."""
    return max([0.01, *(abs(change) for rows in maps for changes in rows for change in changes)])


def knockout_map(
    rows: Rows,
    scale: float,
    layers: int | None = None,
    off: Sequence[tuple[int, int]] = (),
    clickable: bool = False,
    with_key: bool = True,
) -> alt.LayerChart:
    """Layers x heads, coloured by the change in ln p when that head alone is off, from -`scale` to `scale` nats.

    There is room for `layers` rows where not all are known yet. Heads `off` (layer, head, from 0) are framed. The key
    of the colours is left out, except `with_key`.
    """
    table = knockout_table({"": rows})
    table["shown"] = table["change"].map(signed)
    switched = {(layer + 1, head + 1) for layer, head in off}
    table["off"] = [(layer, head) in switched for layer, head in zip(table["layer"], table["head"], strict=True)]
    order = alt.Scale(domain=list(range(1, (layers or len(rows)) + 1)))
    base = alt.Chart(table).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0, **_BARE)),
        y=alt.Y("layer:O", title="layer", scale=order, axis=alt.Axis(**_BARE)),
        tooltip=[*tips("layer", "head"), alt.Tooltip("change", title="change in ln p (nats)", format="+.3f")],
    )
    legend = alt.Legend(title="change in ln p (nats)", orient="bottom", gradientLength=170, titleLimit=240)
    colours = alt.Scale(domain=[-scale, scale], **_DIVERGING)
    cells = base.mark_rect(stroke="transparent", cursor="pointer" if clickable else "default").encode(
        color=alt.Color("change:Q", scale=colours, legend=legend if with_key else None)
    )
    if clickable:
        point = alt.selection_point(name=CELL, fields=["layer", "head"], toggle="true", clear=False, empty=False)
        cells = cells.add_params(point)
    off_cells = base.transform_filter(alt.datum.off)
    drawn = cells + off_cells.mark_rect(filled=False, stroke="#111", strokeWidth=3)
    if len(rows[0]) > _WRITTEN:
        return drawn.properties(height=alt.Step(24))
    ink = alt.condition(f"abs(datum.change) > {0.72 * scale}", alt.value("#fff"), alt.value("#111"))
    numbers = base.mark_text(fontSize=13).encode(text=alt.Text("shown:N"), color=ink)
    words = off_cells.mark_text(fontSize=11, fontWeight="bold", dy=14, text="off").encode(color=ink)
    return (drawn + numbers + words).properties(height=alt.Step(44))


def knockout_maps(maps: Mapping[str, Rows], off: Sequence[tuple[int, int]] = ()) -> alt.HConcatChart:
    """A knockout_map for each model by name, all on one scale; in the first, the heads that are `off` are framed."""
    scale = largest(*maps.values())
    drawn = [
        knockout_map(rows, scale, off=() if number else off).properties(title=name)
        for number, (name, rows) in enumerate(maps.items())
    ]
    return alt.hconcat(*drawn)


def measure_table(measures: Measures) -> pd.DataFrame:
    """One row a token: each measure as it is, and its rank (1 = most) among the tokens that are compared."""
    table = pd.DataFrame({"position": range(len(measures.tokens)), "token": measures.tokens} | measures.values)
    table["compared"] = measures.compared
    for name in measures.values:
        table[f"rank by {name}"] = table[name].where(table["compared"]).rank(ascending=False, method="min")
    return table


def measure_map(measures: Measures) -> alt.LayerChart:
    """A row for each token, a column for each measure: its share of the column in colour, its rank as a number."""
    table = measure_table(measures)
    shares = [
        table[table["compared"]]
        .assign(measure=name, rank=table[f"rank by {name}"], share=table[name] / table[name][table["compared"]].sum())
        .filter(["position", "token", "measure", "rank", "share"])
        .assign(shown=lambda t: t["share"].map(percent))
        for name in measures.values
    ]
    long = pd.concat(shares)
    positions = list(long["position"].unique())
    names = alt.Axis(labelExpr=token_names(positions, measures.tokens), labelFontSize=13, labelLimit=110, **_BARE)
    lines = "split(datum.label, '-')"  # "value-weighted" in two, or it would touch its neighbour on a phone
    top = alt.Axis(orient="top", labelAngle=0, labelFontSize=12, labelExpr=lines, **_BARE)
    base = alt.Chart(long).encode(
        x=alt.X("measure:N", sort=list(measures.values), title=None, axis=top),
        y=alt.Y("position:O", title=None, axis=names),
        tooltip=[*tips("token", "measure", "rank"), alt.Tooltip("shown:N", title="share")],
    )
    legend = alt.Legend(title="share", format=".0%", orient="bottom", gradientLength=150)
    most = float(long["share"].max()) or 1.0
    colour = alt.Color("share:Q", scale=alt.Scale(scheme="cividis", domain=[0, most]), legend=legend)
    ink = alt.condition(alt.datum.share > 0.55 * most, alt.value("#111"), alt.value("#fff"))
    numbers = base.mark_text(fontSize=12).encode(text=alt.Text("rank:Q"), color=ink)
    return (base.mark_rect().encode(color=colour) + numbers).properties(height=alt.Step(22))


def agreement_table(measures: Measures) -> pd.DataFrame:
    """Return one row a pair of measures: Spearman's rank correlation of the orders they give; needs an agreement."""
    names, agreement = list(measures.values), np.array(measures.agreement)
    pairs = [(i, j) for i in range(len(names)) for j in range(len(names)) if i != j]
    rows = [(names[i], names[j], float(agreement[i, j])) for i, j in pairs]
    return pd.DataFrame(rows, columns=["measure", "other", "correlation"])


def agreement_map(measures: Measures) -> alt.LayerChart:
    """Measures x measures: how alike they order the tokens, 1 the same order, 0 no relation, -1 reversed."""
    names = list(measures.values)
    table = agreement_table(measures)
    known = table["correlation"].notna()
    table["shown"] = table["correlation"].map(signed).where(known, "–")
    axis = dict(title=None, sort=names, scale=alt.Scale(domain=names))
    base = alt.Chart(table).encode(
        x=alt.X("other:N", axis=alt.Axis(labelAngle=-35, orient="bottom", **_BARE), **axis),
        y=alt.Y("measure:N", axis=alt.Axis(**_BARE), **axis),
        tooltip=tips("measure", "other", ("correlation", "+.3f")),
    )
    colours = alt.Scale(domain=[-1, 1], **_DIVERGING)
    cells = base.mark_rect().encode(color=alt.Color("correlation:Q", scale=colours, legend=None))  # numbers stand there
    ink = alt.condition("abs(datum.correlation) > 0.72", alt.value("#fff"), alt.value("#111"))
    numbers = base.mark_text(fontSize=13).encode(text=alt.Text("shown:N"), color=ink)
    return (cells + numbers).properties(height=alt.Step(38))


def measure_maps(found: Mapping[str, Measures]) -> alt.HConcatChart:
    """The measure_map of the first model, and beside it the agreement_map of each by name."""
    tokens = measure_map(next(iter(found.values())))
    agreements = [agreement_map(one).properties(title=name) for name, one in found.items()]
    return alt.hconcat(tokens, alt.vconcat(*agreements)).resolve_scale(color="independent")
