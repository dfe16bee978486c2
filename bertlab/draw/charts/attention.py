"""Attention of one head as an Altair chart, and the roles of all heads."""

from collections.abc import Sequence

import altair as alt
import pandas as pd
from torch import Tensor

from bertlab.draw.charts.base import PLAIN, ROW, tips, token_axis, token_names
from bertlab.draw.palette import OKABE_ITO
from bertlab.explain.attention.heads import ROLES, HeadRoles
from bertlab.explain.words.follow import FollowedWord


def attention_table(tokens: Sequence[str], weights: Tensor) -> pd.DataFrame:
    """One row a pair of tokens: weights (S, S) of one head, in full precision."""
    values = weights.tolist()  # at once: one by one, numbers leave a tensor slowly
    rows = [(i, first, j, second, values[i][j]) for i, first in enumerate(tokens) for j, second in enumerate(tokens)]
    return pd.DataFrame(rows, columns=["from", "from token", "to", "to token", "weight"])


def attention_heatmap(tokens: Sequence[str], weights: Tensor) -> alt.Chart:
    """Draw one head (S, S) as a matrix: rows attend, columns are attended to."""
    label = alt.Axis(labelExpr=token_names(range(len(tokens)), tokens), labelOverlap=True, **PLAIN)
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


def followed_table(word: FollowedWord) -> pd.DataFrame:
    """One row for each layer, head and token: how much the followed position attends to that token."""
    rows = [
        (layer + 1, head + 1, position, token, weights[position])
        for layer, heads in enumerate(word.attention.tolist())
        for head, weights in enumerate(heads)
        for position, token in enumerate(word.tokens)
    ]
    return pd.DataFrame(rows, columns=["layer", "head", "position", "token", "weight"])


def followed_heatmap(word: FollowedWord) -> alt.Chart:
    """Draw what every head gives the tokens at the followed position: rows are tokens, columns layers and heads."""
    label = token_axis(token_names(range(len(word.tokens)), word.tokens))
    return (
        alt.Chart(followed_table(word))
        .mark_rect()
        .encode(
            x=alt.X("layer:O", title="layer, and in it each head", axis=alt.Axis(labelAngle=0, **PLAIN)),
            xOffset=alt.XOffset("head:O"),
            y=alt.Y("position:O", title="attended to", axis=label),
            color=alt.Color("weight:Q", scale=alt.Scale(scheme="cividis", domainMin=0)),
        )
        .properties(width=640, height=alt.Step(ROW))
    )


def role_table(roles: HeadRoles, control: HeadRoles) -> pd.DataFrame:
    """One row a head and role: the share of its weight, and that with random weights and in uniform attention.

    Layers and heads count from 1. "named" tells whether the head is called after this role.
    """
    learned, random, best = roles.scores.tolist(), control.scores.tolist(), roles.best.tolist()
    rows = [
        (layer + 1, head + 1, role, scores[r], random[layer][head][r], uniform, best[layer][head] == r)
        for layer, of_layer in enumerate(learned)
        for head, scores in enumerate(of_layer)
        for r, (role, uniform) in enumerate(zip(ROLES, roles.uniform.tolist(), strict=True))
    ]
    names = ["layer", "head", "role", "score", "random weights", "uniform attention", "named"]
    return pd.DataFrame(rows, columns=names)


def role_maps(table: pd.DataFrame) -> alt.VConcatChart:
    """The maps of the trained heads above those of the heads with random weights."""
    return alt.vconcat(trained_maps(table), control_maps(table))


def trained_maps(table: pd.DataFrame) -> alt.LayerChart:
    """For each role all heads as layers x heads; those named after it are framed."""
    named = alt.Chart(table).transform_filter(alt.datum.named)
    frames = named.mark_rect(filled=False, stroke=OKABE_ITO[4], strokeWidth=1)
    legend = alt.Legend(title=None, orient="top", format=".0%", gradientLength=150)
    return _maps(table, "score", "trained", legend) + _placed(frames)


def control_maps(table: pd.DataFrame) -> alt.Chart:
    """The same with random weights, on the same scale."""
    return _maps(table, "random weights", "random weights", legend=None)


def _maps(table: pd.DataFrame, column: str, title: str, legend: alt.Legend | None) -> alt.Chart:
    scale = alt.Scale(scheme="cividis", domain=[0, 1])
    shares = [alt.Tooltip(name, format=".3f") for name in ("score", "random weights", "uniform attention")]
    return _placed(
        alt.Chart(table, title=alt.Title(title, anchor="start"))
        .mark_rect()
        .encode(
            color=alt.Color(f"{column}:Q", scale=scale, legend=legend),
            tooltip=[*tips("layer", "head", "role"), *shares],
        )
    )


def _placed(chart: alt.Chart) -> alt.Chart:
    plain = dict(ticks=False, domain=False, labelOverlap=False)
    return chart.encode(
        x=alt.X("role:N", sort=list(ROLES), title=None, axis=alt.Axis(labelAngle=-35, **plain)),
        xOffset=alt.XOffset("head:O", title="head"),
        y=alt.Y("layer:O", title="layer", axis=alt.Axis(**plain)),
    ).properties(height=alt.Step(18))
