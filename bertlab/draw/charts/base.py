"""What all charts share: names and axes of tokens, and charts as PNG and SVG."""

import json
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO, StringIO

import altair as alt

PLAIN = dict(grid=False, ticks=False, domain=False)
ROW = 20  # pixels, where each token has a row


def token_names(positions: Iterable[int], tokens: Sequence[str] | Mapping[int, str]) -> str:
    """Return a Vega expression from a position to its token: equal tokens at two positions stay two labels.

    Vega takes the string "if" for its function of that name and then draws nothing, so each token stands behind a dot.
    """
    return f"slice(({json.dumps({str(i): f'.{tokens[i]}' for i in positions})})[datum.value], 1)"


def token_axis(names: str) -> alt.Axis:
    """The rows of a chart with one for each token; `names` are token_names."""
    return alt.Axis(labelExpr=names, labelFontSize=12, labelLimit=110, **PLAIN)


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
