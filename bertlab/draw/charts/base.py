"""Altair charts of what bertlab.explain computes. Backgrounds stay clear, so light and dark both work."""

import json
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO, StringIO

import altair as alt
import pandas as pd
from torch import Tensor

from bertlab.draw.palette import BLUE, GREEN, GREY, ORANGE
from bertlab.explain.attribution import Attribution
from bertlab.explain.words.fill import Fill

_PLAIN = dict(grid=False, ticks=False, domain=False)
ROW = 20  # pixels, where each token has a row


def fill_table(fills: Sequence[Fill]) -> pd.DataFrame:
    """One row a guess: position, rank, token, probability."""
    return pd.DataFrame(
        [
            (fill.position, rank, token, probability)
            for fill in fills
            for rank, (token, probability) in enumerate(zip(fill.tokens, fill.probabilities, strict=True), 1)
        ],
        columns=["position", "rank", "token", "probability"],
    )


def fill_bars(fill: Fill, truth: str | None = None) -> alt.LayerChart:
    """Probability bars of the likeliest tokens at one position; the true token, if known, in green."""
    table = fill_table([fill]).assign(right=lambda t: t["token"] == truth)
    base = alt.Chart(table).encode(
        y=alt.Y("token:N", sort=None, title=None, axis=alt.Axis(**_PLAIN, labelFontSize=14, labelLimit=110)),
        x=alt.X("probability:Q", title=None, scale=alt.Scale(domain=[0, 1.12]), axis=None),
        tooltip=["token", alt.Tooltip("probability", format=".4f")],
    )
    colour = alt.Color("right:N", scale=alt.Scale(domain=[False, True], range=[BLUE, GREEN]), legend=None)
    bars = base.mark_bar(height=15, cornerRadiusEnd=3).encode(color=colour)
    text = alt.Text("probability:Q", format=".1%")
    labels = base.mark_text(align="left", dx=5, fontSize=13, color=GREY).encode(text=text)
    return (bars + labels).properties(height=alt.Step(25))


def fill_panels(fills: Sequence[Fill], truths: Sequence[str]) -> alt.VConcatChart:
    """The fill_bars of one gap below the other, each with its true token."""
    panels = [
        fill_bars(fill, truth).properties(title=f"gap {number}")
        for number, (fill, truth) in enumerate(zip(fills, truths, strict=True), 1)
    ]
    return alt.vconcat(*panels)


def attention_table(tokens: Sequence[str], weights: Tensor) -> pd.DataFrame:
    """One row a pair of tokens: weights (S, S) of one head, in full precision."""
    values = weights.tolist()  # at once: one by one, numbers leave a tensor slowly
    rows = [(i, first, j, second, values[i][j]) for i, first in enumerate(tokens) for j, second in enumerate(tokens)]
    return pd.DataFrame(rows, columns=["from", "from token", "to", "to token", "weight"])


def attention_heatmap(tokens: Sequence[str], weights: Tensor) -> alt.Chart:
    """Draw one head (S, S) as a matrix: rows attend, columns are attended to."""
    label = alt.Axis(labelExpr=token_names(range(len(tokens)), tokens), labelOverlap=True, **_PLAIN)
    step = alt.Step(max(6, min(24, 640 // len(tokens))))
    return (
        alt.Chart(attention_table(tokens, weights))
        .mark_rect()
        .encode(
            x=alt.X("to:O", title="attended to", axis=label),
            y=alt.Y("from:O", title="attending", axis=label),
            color=alt.Color("weight:Q", scale=alt.Scale(scheme="cividis", domainMin=0)),
        )
        .properties(width=step, height=step)
    )


def token_names(positions: Iterable[int], tokens: Sequence[str] | Mapping[int, str]) -> str:
    """Return a Vega expression from a position to its token: equal tokens at two positions stay two labels."""
    return f"({json.dumps({str(i): tokens[i] for i in positions})})[datum.value]"


def token_axis(names: str) -> alt.Axis:
    """The rows of a chart with one for each token; `names` are token_names."""
    return alt.Axis(labelExpr=names, labelFontSize=12, labelLimit=110, **_PLAIN)


def attribution_table(found: Attribution, control: Attribution) -> pd.DataFrame:
    """Return one row a token: its attribution, and that with random weights."""
    values = {"contribution": found.values.tolist(), "random weights": control.values.tolist()}
    return pd.DataFrame({"position": range(len(found.tokens)), "token": found.tokens, **values})


def attribution_bars(found: Attribution, control: Attribution) -> alt.Chart:
    """Draw a row for each token with two bars on one scale: its contribution, and below it that with random weights."""
    table = attribution_table(found, control)
    signs = table["contribution"].map(lambda value: "for it" if value >= 0 else "against it")
    long = table.assign(signs=signs).melt(["position", "token", "signs"], var_name="weights", value_name="value")
    long["what"] = long["signs"].where(long["weights"] == "contribution", "random weights")
    scale = alt.Scale(domain=["for it", "against it", "random weights"], range=[BLUE, ORANGE, GREY])
    legend = alt.Legend(title=None, orient="top", labelFontSize=12, columnPadding=5)  # all three on a phone
    names = token_names(range(len(found.tokens)), found.tokens)
    return (
        alt.Chart(long)
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            y=alt.Y("position:O", title=None, axis=token_axis(names), scale=alt.Scale(paddingInner=0.2)),
            yOffset=alt.YOffset("weights:N", sort=["contribution", "random weights"]),
            x=alt.X("value:Q", title="contribution", axis=alt.Axis(gridOpacity=0.4, orient="top")),
            color=alt.Color("what:N", scale=scale, legend=legend),
            tooltip=["token", "what", alt.Tooltip("value", title="contribution", format="+.4f")],
        )
        .properties(height=alt.Step(ROW, **{"for": "position"}))
    )


def png(chart: alt.TopLevelMixin, scale: float = 2.0) -> bytes:
    """The chart as a PNG file on white (made by vl-convert, offline)."""
    buffer = BytesIO()
    chart.properties(background="white").save(buffer, format="png", scale_factor=scale)
    return buffer.getvalue()


def svg(chart: alt.TopLevelMixin) -> bytes:
    """The chart as an SVG file with a clear background (made by vl-convert, offline)."""
    buffer = StringIO()
    chart.save(buffer, format="svg")
    return buffer.getvalue().encode()
