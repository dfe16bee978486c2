"""What all charts share: names and axes of tokens, and charts as PNG, SVG and HTML."""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from io import BytesIO, StringIO

import altair as alt

from bertlab.draw.palette import OKABE_ITO, SHAPES, SIGNS

PLAIN = dict(grid=False, ticks=False, domain=False)
ROW = 20  # pixels, where each token has a row
Style = tuple[str, str]  # colour and shape of a label


def token_names(positions: Iterable[int], tokens: Sequence[str] | Mapping[int, str]) -> str:
    """Return a Vega expression from a position to its token: equal tokens at two positions stay two labels.

    Vega takes the string "if" for its function of that name and then draws nothing, so each token stands behind a dot.
    """
    return f"slice(({json.dumps({str(i): f'.{tokens[i]}' for i in positions})})[datum.value], 1)"


def token_axis(names: str) -> alt.Axis:
    """The rows of a chart with one for each token; `names` are token_names."""
    return alt.Axis(labelExpr=names, labelFontSize=12, labelLimit=110, **PLAIN)


def tips(*columns: str | tuple[str, str]) -> list[alt.Tooltip]:
    """Return what pointing at a mark shows: columns, or pairs of a column and the format of its numbers."""
    pairs = [(column, "") if isinstance(column, str) else column for column in columns]
    return [alt.Tooltip(column, format=form or alt.Undefined) for column, form in pairs]


def styles_of(names: Iterable[str], colours: Sequence[str] = OKABE_ITO) -> dict[str, Style]:
    """Give each label a colour and a shape, in this order, as long as there are some."""
    return dict(zip(names, zip(colours, SHAPES, strict=False), strict=False))


def label_scales(
    field: str, styles: Mapping[str, Style], legend: alt.Legend | None = None
) -> tuple[alt.Color, alt.Shape]:
    """Return the channels that draw each label of a field so, with one legend for both."""
    names, (colours, shapes) = list(styles), zip(*styles.values(), strict=True)
    return (
        alt.Color(field, scale=alt.Scale(domain=names, range=list(colours)), legend=legend),
        alt.Shape(field, scale=alt.Scale(domain=names, range=list(shapes)), legend=legend),
    )


def label_key(styles: Mapping[str, Style]) -> str:
    """HTML: what colour and shape each label has, for several pictures with one key."""
    signs = dict(zip(SHAPES, SIGNS, strict=True))
    keys = (
        f'<span style="color:{c}">{signs.get(shape, "★")}</span> {escape(name)}' for name, (c, shape) in styles.items()
    )
    return " ".join(f'<span style="white-space:nowrap;margin-right:1em">{key}</span>' for key in keys)


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


def web_page(chart: alt.TopLevelMixin, title: str) -> bytes:
    """The chart as an HTML file that opens without a server or network, and shows the notes on its marks."""
    chart = chart.properties(background="white")
    page = chart.to_html(inline=True, embed_options={"actions": False, "renderer": "svg"})
    drawn = json.dumps(chart.to_dict())
    assert page.count(drawn) == 1, "Altair writes the chart in another form than expected"
    page = page.replace(drawn, drawn.replace("<", "\\u003c"))  # a text of the user may hold </script>
    return page.replace("<head>", f"<head><title>{escape(title)}</title>", 1).encode()
