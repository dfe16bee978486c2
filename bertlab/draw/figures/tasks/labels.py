"""Figures of labels for words: what is asked at which piece, paths through the labels, transitions, F1 by seed."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.draw.figures.base import DARK, DIVERGING, INK, WIDTH, box, canvas, clean, figure, panel
from bertlab.draw.figures.comparison import seed_rows
from bertlab.draw.figures.tasks.answers import grouped_bars
from bertlab.draw.palette import BLUE, GREEN, GREY, OKABE_ITO, ORANGE
from bertlab.draw.percent import signed

LETTER = 0.085  # inches of a letter in a box


def pieces_and_labels(words: Sequence[Sequence[str]], labels: Sequence[str], names: Sequence[str]) -> Figure:
    """Words as pieces in boxes; below the first piece of each word its label, and the index of that in `names`."""
    fig, ax = canvas(1.55)
    cells = [["[CLS]"], *words, ["[SEP]"]]
    asked = [None, *labels, None]
    widths = [
        max(max(map(len, pieces)), len(label or "")) * LETTER + 0.16 for pieces, label in zip(cells, asked, strict=True)
    ]
    free = WIDTH - 1.2
    scale = min(1.0, free / sum((width + 0.05) * len(pieces) for width, pieces in zip(widths, cells, strict=True)))
    for y, name in ((0.35, "piece"), (0.82, "label"), (1.25, "number")):
        ax.text(0.1, y, name, va="center", size=10, weight="bold", color=INK)
    x = 1.0
    for pieces, label, width in zip(cells, asked, widths, strict=True):
        for index, piece in enumerate(pieces):
            first = index == 0 and label is not None
            colour = "white" if not first else GREY if label == "O" else _colour(str(label), labels)
            box(ax, x, 0.2, scale * width, piece, colour, size=8.5)
            below: dict = dict(ha="center", va="center", size=8.5, family="monospace", parse_math=False)
            middle, shade = x + scale * width / 2, INK if first else "#999999"
            ax.text(middle, 0.82, str(label) if first else "-", color=shade, **below)
            ax.text(middle, 1.25, str(names.index(str(label)) if first else IGNORED), color=shade, **below)
            x += scale * (width + 0.05)
    return fig


def _colour(label: str, labels: Sequence[str]) -> str:
    kinds = list(dict.fromkeys(each[2:] for each in labels if each != "O"))
    return (ORANGE, BLUE, GREEN, *OKABE_ITO[3:])[kinds.index(label[2:])]


def paths(
    words: Sequence[str], names: Sequence[str], probabilities: Tensor, chosen: Mapping[str, Sequence[int]]
) -> Figure:
    """The probability of each label (rows) at each word (columns), and paths through them: a line for each."""
    fig, ax = panel(0.9 + 0.4 * len(names))
    ax.imshow(probabilities.T.numpy(), cmap="Greys", vmin=0, vmax=2.5, aspect="auto")  # pale: numbers stand on it
    for word, label in np.ndindex(*probabilities.shape):
        value = float(probabilities[word, label])
        if value >= 0.005:
            ax.text(word, label + 0.24, f"{value:.2f}", ha="center", va="center", size=7.5, color=INK, zorder=3)
    for (name, path), colour, dashes, shift in zip(
        chosen.items(), (ORANGE, BLUE), (":", "-"), (-0.31, -0.19), strict=False
    ):
        heights = [label + shift for label in path]  # above the numbers
        ax.plot(range(len(path)), heights, dashes, color=colour, marker="o", lw=2, ms=5, label=name)
    ax.set_xticks(range(len(words)), words, size=9, parse_math=False)
    ax.set_yticks(range(len(names)), names, size=9)
    ax.tick_params(length=0)
    ax.set(xlabel="word", ylabel="label")
    fig.legend(frameon=False, ncols=2, loc="outside upper right", fontsize=9)
    return fig


def transitions(names: Sequence[str], matrices: Mapping[str, Tensor], forbidden: Tensor) -> Figure:
    """Under each title a matrix of scores (N, N), row = from and column = to; what is forbidden (N, N) is crossed."""
    fig = figure(3.9)
    limit = max(float(matrix[~forbidden].abs().max()) for matrix in matrices.values()) or 1.0
    for number, (ax, (title, matrix)) in enumerate(zip(fig.subplots(1, len(matrices)), matrices.items(), strict=True)):
        shown = np.ma.masked_array(matrix.numpy(), forbidden.numpy())
        image = clean(ax).imshow(shown, cmap=DIVERGING, vmin=-limit, vmax=limit)
        ax.imshow(np.ma.masked_array(np.ones_like(shown), ~forbidden.numpy()), cmap=ListedColormap(["#DDDDDD"]))
        for row, column in np.ndindex(*shown.shape):
            if forbidden[row, column]:
                ax.add_patch(
                    Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="xxx", lw=0, edgecolor="#999999")
                )
            else:
                value = float(matrix[row, column])
                ink = "white" if value > DARK * limit else INK
                ax.text(column, row, signed(value, ".1f"), ha="center", va="center", size=8, color=ink)
        ax.set_xticks(range(len(names)), names, rotation=90, size=8.5)
        ax.set_yticks(range(len(names)), names if number == 0 else [""] * len(names), size=8.5)
        ax.set_title(title, size=10, loc="left")
        ax.set_xlabel("to", size=9)
        ax.tick_params(length=0)
    fig.axes[0].set_ylabel("from", size=9)
    fig.colorbar(image, ax=fig.axes, shrink=0.8, aspect=25).set_label("score of the step (crossed: forbidden)", size=9)
    return fig


def by_seed(groups: Mapping[str, Mapping[str, Sequence[float]]], label: str) -> Figure:
    """One panel for each group, on a scale of its own; a row for each name, a dot for each seed, a bar at the mean."""
    fig = figure(1.0 + 0.46 * max(map(len, groups.values())))
    axes = fig.subplots(1, len(groups), squeeze=False, sharey=True)[0]
    for ax, (title, group) in zip(axes, groups.items(), strict=True):
        seed_rows(ax, group)
        for row, mean in enumerate(map(np.mean, group.values())):
            ax.annotate(f"{mean:.3f}", (mean, row - 0.36), ha="center", va="bottom", size=8.5)
        ax.margins(x=0.13)
        ax.set_title(title, size=10, loc="left")
        ax.set_xlabel(label, size=9)
        ax.grid(axis="x", alpha=0.25, color=GREY)
    return fig


def accuracy_and_f1(accuracy: Mapping[str, float], f1: Mapping[str, float]) -> Figure:
    """Two bars for each name: its token accuracy, and below it the F1 of its entities."""
    groups = {name: {"words right": accuracy[name], "F1 of names": f1[name]} for name in f1}
    return grouped_bars(groups, "share of the words, and F1 (0 to 1)")
