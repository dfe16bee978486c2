"""Figures of the attention chapter: one token that asks, why scores are scaled, masks, what heads split."""

from collections.abc import Mapping, Sequence

from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from torch import Tensor

from bertlab.draw.figures.base import INK, WIDTH, box, canvas, clean, figure
from bertlab.draw.palette import BLUE, GREEN, GREY, OKABE_ITO, ORANGE, PINK

ALLOWED, HIDDEN = OKABE_ITO[5], "#DDDDDD"
HEADS = (BLUE, ORANGE, GREEN, PINK)
PROJECTIONS = (("query", "W_Q"), ("key", "W_K"), ("value", "W_V"))


def one_query(tokens: Sequence[str], asking: int, weights: Tensor) -> Figure:
    """The token at `asking` above, all tokens below; lines are as thick as the weights (S,)."""
    fig, ax = canvas(2.5)
    widths = [max(0.32, 0.067 * len(token) + 0.1) for token in tokens]
    scale = min(1, (WIDTH - 0.2 - 0.03 * len(tokens)) / sum(widths))
    space = (WIDTH - 0.2 - scale * sum(widths)) / len(tokens)
    starts = [0.1 + sum(widths[:i]) * scale + space * (i + 0.5) for i in range(len(tokens))]
    middles = [start + scale * width / 2 for start, width in zip(starts, widths, strict=True)]
    box(ax, min(max(middles[asking] - 0.5, 0.1), WIDTH - 1.1), 0.15, 1.0, tokens[asking], ORANGE)
    for i, (token, weight) in enumerate(zip(tokens, weights.tolist(), strict=True)):
        x, colour = middles[i], ORANGE if i == asking else "white"
        ax.plot([middles[asking], x], [0.45, 1.62], color=BLUE, lw=14 * weight, alpha=0.75, solid_capstyle="butt")
        box(ax, starts[i], 1.62, scale * widths[i], token, colour, size=8 * scale)
        ax.text(x, 2.12, f"{weight:.2f}", ha="center", va="center", size=8.5 * scale, color=INK)
    ax.text(WIDTH / 2, 2.36, "weight; all together 1", ha="center", va="center", size=9, color="#555555")
    return fig


def scores_and_weights(tokens: Sequence[str], scores: Tensor, weights: Tensor) -> Figure:
    """One token's scores (S,) above, and below what the softmax makes of them."""
    fig = figure(3.3)
    positions = range(len(tokens))
    above, below = fig.subplots(2, 1, sharex=True)
    for ax, values, colour, name in ((above, scores, ORANGE, "score"), (below, weights, BLUE, "weight")):
        clean(ax, "left").bar(positions, values.tolist(), color=colour, width=0.7)
        ax.axhline(0, color=INK, lw=0.8)
        ax.set_ylabel(name)
        ax.tick_params(axis="x", length=0)
    below.set_xticks(positions, tokens, rotation=90, size=9, parse_math=False)
    return fig


def matrices(weights: Mapping[str, Tensor], tokens: Sequence[str]) -> Figure:
    """Matrices (S, S) of weights with titles: rows attend to columns; four stand two by two."""
    fig = _grid(weights, tokens, "cividis")
    image = fig.axes[-1].images[0]
    fig.colorbar(image, ax=fig.axes, shrink=0.7, aspect=25).set_label("weight", size=9)
    return fig


def mask_rows(tokens: Sequence[Sequence[str]], rows: Mapping[str, Tensor], mark: Sequence[int] = ()) -> Figure:
    """One row of attention weights (S,) for each title, with its tokens; those at the positions `mark` are framed."""
    fig = figure(0.55 + 0.85 * len(rows))
    axes = fig.subplots(len(rows), 1, squeeze=False)[:, 0]
    for ax, words, (title, weights) in zip(axes, tokens, rows.items(), strict=True):
        image = clean(ax).imshow(weights[None].numpy(), cmap="cividis", vmin=0, vmax=1, aspect="auto")
        ax.set_xticks(range(len(words)), words, size=7, parse_math=False)
        ax.set_yticks([])
        ax.tick_params(length=0)
        ax.set_title(title, size=9.5, loc="left", parse_math=False)
        for position in mark:
            shown, ink = f"{float(weights[position]):.2f}", "white" if weights[position] < 0.6 else INK
            ax.text(position, 0, shown, ha="center", va="center", size=8.5, color=ink)
    fig.colorbar(image, ax=axes, aspect=12).set_label("attention weight", size=9)
    return fig


def masks(allowed: Mapping[str, Tensor], tokens: Sequence[str]) -> Figure:
    """Masks (S, S) with titles: True where the token of the row may attend to the token of the column."""
    fig = _grid({name: mask.float() for name, mask in allowed.items()}, tokens, ListedColormap([HIDDEN, ALLOWED]))
    for ax in fig.axes:
        ax.set_xticks([i + 0.5 for i in range(len(tokens) - 1)], minor=True)
        ax.set_yticks([i + 0.5 for i in range(len(tokens) - 1)], minor=True)
        ax.tick_params(which="minor", length=0)
        ax.grid(which="minor", color="white", lw=1)
    kinds = [Patch(facecolor=colour, label=name) for colour, name in ((ALLOWED, "may attend to"), (HIDDEN, "hidden"))]
    fig.legend(handles=kinds, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return fig


def _grid(panels: Mapping[str, Tensor], tokens: Sequence[str], colours) -> Figure:
    across = 2 if len(panels) == 4 else len(panels)
    down = -(-len(panels) // across)
    fig = figure(down * (0.85 + min((WIDTH - 1.4) / across, 2.6)))
    positions = range(len(tokens))
    axes = fig.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for ax, (name, matrix) in zip(axes.flat, panels.items(), strict=True):
        clean(ax).imshow(matrix.numpy(), cmap=colours, vmin=0, vmax=1)
        ax.set_title(name, size=10)
        ax.tick_params(length=0)
    for ax in axes[-1]:
        ax.set_xticks(positions, tokens, rotation=90, size=8, parse_math=False)
        ax.set_xlabel("key: attended to", size=9)
    for ax in axes[:, 0]:
        ax.set_yticks(positions, tokens, size=8, parse_math=False)
        ax.set_ylabel("query: attends", size=9)
    return fig


def why_scale(
    widths: Sequence[int], spreads: Sequence[float], largest: Mapping[str, Sequence[float]], slopes: Mapping
) -> Figure:
    """Against the width D of a head: how far scores spread, the largest weight of a row, what gradient is left."""
    fig = figure(2.9)
    left, middle, right = fig.subplots(1, 3)
    left.plot(widths, spreads, color=ORANGE, marker="o", lw=2, label="measured")
    left.plot(widths, [width**0.5 for width in widths], color=INK, ls=":", label="square root of D")
    left.set(title="spread of the raw scores", ylim=(0, None))
    for ax, values, title in (
        (middle, largest, "largest weight of a row"),
        (right, slopes, "sum of p(1 − p) over a row"),
    ):
        for (name, ys), colour, marker in zip(values.items(), (ORANGE, BLUE), "os", strict=True):
            ax.plot(widths, ys, color=colour, marker=marker, lw=2, label=name)
        ax.set(title=title, ylim=(0, 1.04))
    for ax in (left, middle, right):
        clean(ax, "left", "bottom").set_xscale("log", base=2)
        ax.set_xticks(widths, widths, size=8, rotation=45)
        ax.set_xlabel("D, numbers in a key", size=9)
        ax.title.set_size(10)
    left.legend(frameon=False, fontsize=8.5)
    middle.legend(frameon=False, fontsize=8.5)
    return fig


def shares(tokens: Sequence[str], heads: int, width: int) -> Figure:
    """What many heads split: the features of query, key and value, not those of x, and not the tokens (crossed out)."""
    size, features = len(tokens), heads * width
    fig = figure(1.15 + 0.24 * size)
    axes = fig.subplots(1, 5, sharey=True)
    panels = [
        ("x", "read by all heads", lambda row, column: GREY),
        *((name, f"x {matrix}", lambda row, column: HEADS[column // width]) for name, matrix in PROJECTIONS),
        ("not so", "some tokens each", lambda row, column: HEADS[row * heads // size]),
    ]
    for ax, (title, label, colour) in zip(axes, panels, strict=True):
        for row in range(size):
            for column in range(features):
                ax.add_patch(Rectangle((column, row), 0.9, 0.86, facecolor=colour(row, column), alpha=0.75))
        ax.set(xlim=(-0.3, features + 0.2), ylim=(size + 0.1, -0.2), xticks=[])
        ax.set_title(title, size=10)
        ax.set_xlabel(label, size=9)
        ax.tick_params(length=0)
        clean(ax)
    axes[0].set_yticks([i + 0.43 for i in range(size)], tokens, size=8.5, parse_math=False)
    axes[-1].plot([0, features], [0, size], color=INK, lw=2.5)
    axes[-1].plot([0, features], [size, 0], color=INK, lw=2.5)
    names = [Patch(facecolor=HEADS[head], alpha=0.75, label=f"head {head + 1}") for head in range(heads)]
    fig.legend(handles=names, loc="outside lower center", ncols=heads, frameon=False, fontsize=9)
    return fig
