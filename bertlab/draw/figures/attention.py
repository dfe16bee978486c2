"""Figures of the attention chapter: one token that asks, why scores are scaled, masks, heads as shares of features."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from bertlab.draw.figures.base import INK, WIDTH, arrow, box, canvas, clean, figure
from bertlab.draw.palette import BLUE, GREEN, GREY, ORANGE, PINK


def one_query(tokens: Sequence[str], asking: int, weights: Tensor) -> Figure:
    """The token at `asking` above, all tokens below; lines are as thick as the weights (S,)."""
    fig, ax = canvas(2.5)
    step = (WIDTH - 0.2) / len(tokens)
    positions = [0.1 + (i + 0.5) * step for i in range(len(tokens))]
    box(ax, min(max(positions[asking] - 0.5, 0.1), WIDTH - 1.1), 0.15, 1.0, tokens[asking], ORANGE)
    for i, (token, x, weight) in enumerate(zip(tokens, positions, weights.tolist(), strict=True)):
        ax.plot([positions[asking], x], [0.45, 1.62], color=BLUE, lw=14 * weight, alpha=0.75, solid_capstyle="butt")
        box(ax, x - step / 2 + 0.02, 1.62, step - 0.04, token, ORANGE if i == asking else "white", size=7.5)
        ax.text(x, 2.12, f"{weight:.2f}", ha="center", va="center", size=8.5, color=INK)
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


def matrices(weights: Mapping[str, Tensor], tokens: Sequence[str], label: str = "weight") -> Figure:
    """Matrices (S, S) of numbers from 0 to 1 with titles: rows ask, columns are looked at; four stand two by two."""
    across = 2 if len(weights) == 4 else len(weights)
    down = -(-len(weights) // across)
    fig = figure(down * (0.85 + min((WIDTH - 1.4) / across, 2.6)))
    positions = range(len(tokens))
    axes = fig.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for ax, (name, matrix) in zip(axes.flat, weights.items(), strict=True):
        image = clean(ax).imshow(matrix.numpy(), cmap="cividis", vmin=0, vmax=1)
        ax.set_title(name, size=10)
        ax.tick_params(length=0)
    for ax in axes[-1]:
        ax.set_xticks(positions, tokens, rotation=90, size=8, parse_math=False)
        ax.set_xlabel("looked at", size=9)
    for ax in axes[:, 0]:
        ax.set_yticks(positions, tokens, size=8, parse_math=False)
        ax.set_ylabel("asking", size=9)
    fig.colorbar(image, ax=axes, shrink=0.7, aspect=25).set_label(label, size=9)
    return fig


def why_scale(
    widths: Sequence[int], spreads: Sequence[float], largest: Mapping[str, Sequence[float]], slopes: Mapping
) -> Figure:
    """Against the width D of a head: how far scores spread, the largest weight of a row, what gradient is left."""
    fig = figure(2.9)
    left, middle, right = fig.subplots(1, 3)
    left.plot(widths, spreads, color=ORANGE, marker="o", lw=2, label="measured")
    left.plot(widths, [width**0.5 for width in widths], color=INK, ls=":", label="square root of D")
    left.set(title="spread of the raw scores")
    for ax, values, title in ((middle, largest, "largest weight of a row"), (right, slopes, "slope of the softmax")):
        for (name, ys), colour, marker in zip(values.items(), (ORANGE, BLUE), "os", strict=True):
            ax.plot(widths, ys, color=colour, marker=marker, lw=2, label=name)
        ax.set(title=title, ylim=(0, None))
    for ax in (left, middle, right):
        clean(ax, "left", "bottom").set_xscale("log", base=2)
        ax.set_xticks(widths, widths, size=8, rotation=45)
        ax.set_xlabel("D, numbers in a key", size=9)
        ax.title.set_size(10)
    left.legend(frameon=False, fontsize=8.5)
    middle.legend(frameon=False, fontsize=8.5)
    return fig


def shares(tokens: Sequence[str], heads: int, width: int) -> Figure:
    """What many heads split: the features of every token (left), and not the tokens (right, crossed out)."""
    colours = (BLUE, ORANGE, GREEN, PINK)
    fig = figure(0.9 + 0.26 * len(tokens))
    left, right = fig.subplots(1, 2)
    for ax, by_feature in ((left, True), (right, False)):
        for row in range(len(tokens)):
            for column in range(heads * width):
                head = column // width if by_feature else row * heads // len(tokens)
                ax.add_patch(Rectangle((column, row), 0.9, 0.86, facecolor=colours[head], alpha=0.75))
        ax.set(xlim=(-0.2, heads * width + 0.2), ylim=(len(tokens) + 0.1, -0.2), xticks=[])
        ax.set_yticks([i + 0.43 for i in range(len(tokens))], tokens, size=8.5, parse_math=False)
        ax.tick_params(length=0)
        ax.set_xlabel(f"H = {heads * width} features of each token", size=9)
        clean(ax)
    left.set_title(f"so it is: {heads} heads, D = {width} features each", size=10)
    right.set_title("so it is not: some tokens for each head", size=10)
    right.plot([0, heads * width], [0, len(tokens)], color=INK, lw=3)
    right.plot([0, heads * width], [len(tokens), 0], color=INK, lw=3)
    return fig


def attention_flow() -> Figure:
    """The steps of multi-head attention with the shape after each, from above to below."""
    fig, ax = canvas(3.9)
    box(ax, 3.2, 0.1, 1.6, "x (B, S, H)", "white")
    for x, name, colour in ((0.9, "query", ORANGE), (3.2, "key", BLUE), (6.2, "value", GREEN)):
        arrow(ax, (4.0, 0.4), (x + 0.8, 0.75))
        box(ax, x, 0.75, 1.6, name, colour)
        ax.text(x + 0.8, 1.19, "(B, A, S, D)", ha="center", va="center", size=8.5, color=GREY)
    for x, colour in ((1.7, ORANGE), (4.0, BLUE)):
        arrow(ax, (x, 1.3), (2.85, 1.65), colour)
    box(ax, 1.35, 1.65, 3.0, "query @ key.mT / √D", "white")
    ax.text(4.45, 1.8, "scores (B, A, S, S); hide padding", va="center", size=8.5, color=INK)
    arrow(ax, (2.85, 1.95), (2.85, 2.25))
    box(ax, 1.35, 2.25, 3.0, "softmax over each row", PINK)
    ax.text(4.45, 2.4, "weights (B, A, S, S)", va="center", size=8.5, color=INK)
    arrow(ax, (2.85, 2.55), (3.6, 2.85))
    arrow(ax, (7.0, 1.3), (5.5, 2.95), GREEN)
    box(ax, 2.5, 2.85, 3.0, "weights @ value", "white")
    ax.text(5.6, 3.1, "context (B, A, S, D)", va="center", size=8.5, color=INK)
    arrow(ax, (4.0, 3.15), (4.0, 3.5))
    box(ax, 2.5, 3.5, 3.0, "merge heads, then out", "white")
    ax.text(5.6, 3.65, "(B, S, A*D) = (B, S, H)", va="center", size=8.5, color=INK)
    return fig
