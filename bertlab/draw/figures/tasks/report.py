"""The figures of a report: what is taken for what, and how the training went."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, PercentFormatter

from bertlab.draw.figures.base import INK, WIDTH, clean, figure
from bertlab.draw.palette import BLUE, GREY, OKABE_ITO

CELL, WIDEST = 0.34, 1.1  # inches: height of a row of confusions, width of a column where names are short
LETTER = 0.075  # inches
LONGEST = 20  # letters of a label
MOST_LINES, MOST_MARKERS = 4, 50


def confusion_heatmap(labels: Sequence[str], counts: np.ndarray) -> Figure:
    """Counts (C, C) in their cells, rows = the truth, columns = the prediction; colours are shares of the row."""
    names = [_short(label) for label in labels]
    longest = LETTER * max(map(len, names))
    room = WIDTH - longest - 1.5
    width = min(max(WIDEST, longest + 0.1), room / len(names))
    upright = width < longest  # names too long to stand side by side
    fig = figure(0.9 + max(1.0, CELL * len(names)) + (longest if upright else 0.1))
    fig.set_layout_engine("constrained", rect=(0, 0, 1 - (room - width * len(names)) / WIDTH, 1))
    ax = clean(fig.subplots())
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)  # (C, C)
    image = ax.imshow(shares, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        colour = INK if shares[row, column] > 0.5 else "white"
        ax.text(column, row, _compact(count), ha="center", va="center", size=9, color=colour)
    ax.set_xticks(range(len(names)), names, rotation=90 * upright, size=9, parse_math=False)
    ax.set_yticks(range(len(names)), names, size=9, parse_math=False)
    ax.set(xlabel="what the model says", ylabel="what is right")
    ax.tick_params(length=0)
    fig.colorbar(image, ax=ax, format=PercentFormatter(1), ticks=[0, 0.5, 1]).set_label("share of the row", size=9)
    return fig


def _short(label: str) -> str:
    """Both ends of a long label: those of a family often differ in the last letters only."""
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 8]}…{label[-7:]}"


def _compact(count: int) -> str:
    """In four letters: 9999, 10k, 1M."""
    return str(count) if count < 10_000 else EngFormatter(places=0, sep="")(count)


def training_curves(rows: Sequence[Mapping[str, float]], evaluations: Sequence[Mapping[str, float]]) -> Figure:
    """The loss of the training against steps, and beside it the measures of each evaluation; either may be missing.

    `rows` are those of metrics.csv, of which the first column that ends in "loss" is drawn. Of the measures only
    shares and correlations are, four at most; a pale band is their 95% interval.
    """
    fig = figure(3.2)
    axes = iter(fig.subplots(1, bool(rows) + bool(evaluations), squeeze=False)[0])
    if rows:
        _loss(next(axes), rows)
    if evaluations:
        _measures(next(axes), evaluations)
    for ax in fig.axes:  # side by side, so on the same scale
        ax.set_xlim(0, 1.03 * max(row["step"] for row in (*rows, *evaluations)) or 1)
    return fig


def _loss(ax: Axes, rows: Sequence[Mapping[str, float]]) -> None:
    name = next(name for name in rows[0] if name.endswith("loss"))
    marker = "o" if len(rows) <= MOST_MARKERS else ""
    ax.plot([row["step"] for row in rows], [row[name] for row in rows], color=BLUE, marker=marker, ms=3, lw=1.5)
    _axes(ax, "training loss")
    ax.set_ylim(bottom=0)


def _measures(ax: Axes, evaluations: Sequence[Mapping[str, float]]) -> None:
    steps = [row["step"] for row in evaluations]
    for name, colour, marker in zip(_drawn(evaluations), OKABE_ITO, "osD^", strict=False):
        values = [row[name] for row in evaluations]
        ax.plot(steps, values, color=colour, marker=marker, ms=5, lw=2, label=name.replace("_", " "))
        if all(f"{name}_low" in row for row in evaluations):
            low, high = ([row[f"{name}_{end}"] for row in evaluations] for end in ("low", "high"))
            ax.fill_between(steps, low, high, color=colour, alpha=0.15, lw=0)
    _axes(ax, "on held-out examples")
    ax.set_ylim(min(0, ax.get_ylim()[0]), 1.02)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=9)  # clear of the lines


def _drawn(evaluations: Sequence[Mapping[str, float]]) -> list[str]:
    """The first measures that are at most 1 throughout; no bounds, and none of a single class."""
    left_out = ("step", "epoch", "rmse")
    names = [name for name in evaluations[0] if name not in left_out and not name.endswith(("_low", "_high", "loss"))]
    fitting = [name for name in names if ":" not in name and all(-1 <= row[name] <= 1 for row in evaluations)]
    return fitting[:MOST_LINES]


def _axes(ax: Axes, label: str) -> None:
    clean(ax, "left", "bottom").set(xlabel="step", ylabel=label)
    ax.grid(axis="y", alpha=0.25, color=GREY)
