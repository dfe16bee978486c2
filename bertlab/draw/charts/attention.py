"""Attention of one head as an Altair chart, and the roles of all heads."""

from collections.abc import Sequence

import altair as alt
import pandas as pd
from torch import Tensor

from bertlab.draw.charts.base import PLAIN, ROW, token_axis, token_names
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
