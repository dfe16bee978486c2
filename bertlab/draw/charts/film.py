"""What changes from snapshot to snapshot of a training: lines over the steps, and small pictures in a row."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from torch import Tensor

from bertlab.draw.charts.base import tips
from bertlab.draw.palette import GREY, OKABE_ITO, SHAPES
from bertlab.explain.kept_film import KeptFilm
from bertlab.explain.snapshots import HeadFrame, WordFrame
from bertlab.tokenizer import Tokenizer

SIDE, ACROSS = 120, 4  # pixels of a small picture; pictures in a row of a file
_BARE = dict(labels=False, ticks=False, domain=False, grid=False)


def word_table(frames: Sequence[WordFrame], ids: Sequence[int], tokenizer: Tokenizer) -> pd.DataFrame:
    """One row a step and token: its probability there."""
    tokens = tokenizer.convert_ids_to_tokens(list(ids))
    rows = [
        (frame.step, token, float(frame.probabilities[number]))
        for frame in frames
        for number, token in zip(ids, tokens, strict=True)
    ]
    return pd.DataFrame(rows, columns=["step", "token", "probability"])


def kept_table(film: KeptFilm, number: int) -> pd.DataFrame:
    """A word_table of the first guesses in one sentence of a kept film."""
    return pd.DataFrame(film.words(number), columns=["step", "token", "probability"])


def word_lines(table: pd.DataFrame, step: int | None = None) -> alt.LayerChart:
    """A line for the probability of each token of a word_table, at evenly spaced steps; `step` is marked."""
    names = list(table["token"].unique())
    columns = 3 if len(names) > 4 else 4  # they fit on a phone
    legend = alt.Legend(title=None, orient="top", labelFontSize=12, columns=columns, columnPadding=4, symbolSize=60)
    domain = dict(domain=names)
    x = alt.X("step:O", title="training steps (snapshots)", axis=alt.Axis(labelAngle=0, grid=False, format=","))
    y = alt.Y("probability:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", gridOpacity=0.4))
    base = alt.Chart(table).encode(
        x=x,
        y=y,
        color=alt.Color("token:N", scale=alt.Scale(range=OKABE_ITO[: len(names)], **domain), legend=legend),
        tooltip=tips("token", ("step:Q", ","), ("probability", ".4f")),
    )
    shape = alt.Shape("token:N", scale=alt.Scale(range=SHAPES[: len(names)], **domain), legend=legend)
    layers = [base.mark_line(strokeWidth=2.5), base.mark_point(filled=True, size=70, opacity=1).encode(shape=shape)]
    if step is not None:
        here = alt.Chart(pd.DataFrame({"step": [step]})).mark_rule(color=GREY, opacity=0.25, strokeWidth=16)
        layers.insert(0, here.encode(x=alt.X("step:O")))
    return alt.layer(*layers).properties(height=300)


def target_table(names: Sequence[str], shares: Tensor, steps: Sequence[int]) -> pd.DataFrame:
    """One row a step and target: the share (T, K) of one head's attention; what the text cannot tell is left out."""
    rows = [
        (step, name, float(share))
        for step, row in zip(steps, shares, strict=True)
        for name, share in zip(names, row, strict=True)
        if not share.isnan()
    ]
    return pd.DataFrame(rows, columns=["step", "to", "share"])


def head_tile(frame: HeadFrame, layer: int, head: int, subtitle: str = "") -> alt.Chart:
    """Draw one head (from 0) at one moment as a small matrix: rows attend, columns are attended to."""
    tokens, weights = frame.maps.tokens, frame.maps.weights[layer, head]  # (L, A, S, S) -> (S, S)
    i, j = np.indices(weights.shape).reshape(2, -1)  # (S * S,) each
    names = np.array(tokens, dtype=object)
    cells = pd.DataFrame(
        {"i": i, "j": j, "from": names[i], "to": names[j], "weight": weights.flatten().numpy().round(4)}
    )
    colour = alt.Color("weight:Q", scale=alt.Scale(scheme="cividis", domain=[0, 1]), legend=None)
    title = alt.Title(f"step {frame.step:,}", subtitle=subtitle or alt.Undefined, subtitleColor=GREY, offset=4,
                      anchor="start", fontSize=13)  # fmt: skip
    side = max(SIDE // len(tokens), 1) * len(tokens)  # whole pixels, or the page shines through between the cells
    return (
        alt.Chart(cells, title=title)
        .mark_rect()
        .encode(
            x=alt.X("j:O", axis=alt.Axis(**_BARE), title=None, scale=alt.Scale(padding=0)),
            y=alt.Y("i:O", axis=alt.Axis(**_BARE), title=None, scale=alt.Scale(padding=0)),
            color=colour,
            tooltip=tips("from:N", "to:N", ("weight:Q", ".3f")),
        )
        .properties(width=side, height=side)
    )


def strip(tiles: Sequence[alt.Chart]) -> alt.ConcatChart:
    """All small pictures as one, for a file."""
    return alt.concat(*tiles, columns=ACROSS).resolve_scale(x="independent", y="independent")
