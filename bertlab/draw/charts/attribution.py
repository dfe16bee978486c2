"""How much each token contributes to a prediction, as an Altair chart."""

import altair as alt
import pandas as pd

from bertlab.draw.charts.base import ROW, tips, token_axis, token_names
from bertlab.draw.palette import BLUE, GREY, ORANGE
from bertlab.explain.attribution import Attribution


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
            tooltip=[*tips("token", "what"), alt.Tooltip("value", title="contribution", format="+.4f")],
        )
        .properties(height=alt.Step(ROW, **{"for": "position"}))
    )
