"""Matplotlib figures of answer spans: the row with its answer, start x end as a square, windows, groups of bars."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from bertlab.draw.figures.base import INK, box, panel, wrapped
from bertlab.draw.palette import BLUE, GREEN, GREY, OKABE_ITO, ORANGE
from bertlab.explain.spans import Answer

DRAWN = 34  # tokens of a passage that fit into a readable square
WRITTEN = 0.02  # a span at least so probable has its number


def span_row(tokens: Sequence[str], first: int, start: int, end: int) -> Figure:
    """The tokens of a row in boxes: the passage begins at `first`, the answer runs from `start` to `end` (included)."""
    fig, ax, places = wrapped([len(token) for token in tokens])
    legend = {"special": GREY, "question": BLUE, "passage": "white", "answer": ORANGE}
    for number, (name, colour) in enumerate(legend.items()):
        box(ax, 0.1 + 1.3 * number, 0.1, 1.15, name, colour, size=9, height=0.24)
    for position, ((x, y, width), token) in enumerate(zip(places, tokens, strict=True)):
        inside = start <= position <= end
        special = token in ("[CLS]", "[SEP]")
        kind = "answer" if inside else "special" if special else "question" if position < first else "passage"
        box(ax, x, y, width, token, legend[kind])
        note = [word for word, at in (("start", start), ("end", end)) if at == position]
        note += ["no answer"] if position == 0 and start > 0 else []
        ax.text(x + width / 2, y + 0.44, " = ".join(note), ha="center", va="center", size=8.5, color="#666666")
    return fig


def span_square(found: Answer) -> Figure:
    """Start (rows) x end (columns): the probability of each span of the passage; grey is what cannot be an answer.
    Spans of at least WRITTEN have their number above them."""
    first, stop = found.passage_slice
    first = max(first, min(found.best.start_token - DRAWN // 2, stop - DRAWN)) if found.best.text else first
    stop = min(stop, first + DRAWN)
    grid = found.grid[first:stop, first:stop].numpy()
    size = len(grid)
    fig, ax = panel(1.3 + 0.165 * size)
    illegal = np.where(np.tri(size, k=-1, dtype=bool), 1.0, np.nan)
    ax.imshow(illegal, cmap="Greys", vmin=0, vmax=4)
    image = ax.imshow(np.where(np.isnan(illegal), grid, np.nan), cmap="cividis", vmin=0, vmax=1)
    _numbers(ax, grid)
    if found.best.text:
        corner = found.best.end_token - first - 0.5, found.best.start_token - first - 0.5
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=ORANGE, lw=2.5))
    names = found.tokens[first:stop]
    ax.set_xticks(range(size), names, rotation=90, size=7.5, parse_math=False)
    ax.set_yticks(range(size), names, size=7.5, parse_math=False)
    ax.tick_params(length=0)
    ax.set_xlabel("answer ends with", size=9.5)
    ax.set_ylabel("answer starts with", size=9.5)
    ax.text(0.3 * size, 0.8 * size, "ends before it starts", ha="center", size=9.5, color=INK)
    ax.set_title("framed: the best answer", size=9.5, loc="left")
    label = f"probability of the span (numbers: {WRITTEN} and more)"
    fig.colorbar(image, ax=ax, shrink=0.7, aspect=25).set_label(label, size=9)
    return fig


def _numbers(ax: Axes, grid: np.ndarray) -> None:
    around = [withStroke(linewidth=2, foreground="#00224E")]  # the colour of 0: readable beside the grey, too
    for row, column in np.argwhere(grid >= WRITTEN):
        align = "right" if column > 0.85 * len(grid) else "center"
        ax.text(column, row - 0.6, f"{grid[row, column]:.2f}", ha=align, va="bottom", size=8, color="white",
                path_effects=around)  # fmt: skip


def windows_of(windows: Sequence[range], best: Sequence[int]) -> Figure:
    """A bar for each window of a passage; green are the tokens for which this window has the most context."""
    fig, ax = panel(0.8 + 0.34 * len(windows), "bottom")
    for number, window in enumerate(windows):
        ax.barh(number, len(window), left=window.start, height=0.6, color=BLUE, alpha=0.35)
        own = [token for token, chosen in enumerate(best) if chosen == number]
        ax.barh(number, len(own), left=own[0], height=0.6, color=GREEN)
    ax.set(yticks=range(len(windows)), yticklabels=[f"window {n + 1}" for n in range(len(windows))])
    ax.set_xlabel("token of the passage")
    ax.invert_yaxis()
    handles = [Rectangle((0, 0), 1, 1, color=BLUE, alpha=0.35), Rectangle((0, 0), 1, 1, color=GREEN)]
    names = ["in the window", "most context here: an answer may start"]
    ax.legend(handles, names, frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1), fontsize=9)
    return fig


def grouped_bars(groups: Mapping[str, Mapping[str, float]], label: str, limit: float = 1.0) -> Figure:
    """For each group one horizontal bar for each name, all groups with the same names."""
    names = list(next(iter(groups.values())))
    fig, ax = panel(0.9 + len(groups) * (0.2 + 0.25 * len(names)), "bottom")
    step = len(names) + 0.8
    for number, (name, colour) in enumerate(zip(names, OKABE_ITO, strict=False)):
        rows = [step * group + number for group in range(len(groups))]
        values = [values[name] for values in groups.values()]
        ax.barh(rows, values, color=colour, height=0.82, label=name)
        for y, value in zip(rows, values, strict=True):
            ax.text(value + 0.01 * limit, y, f"{value:.2f}", va="center", size=9, color=INK)
    middle = (len(names) - 1) / 2
    ax.set(yticks=[step * group + middle for group in range(len(groups))], yticklabels=list(groups), xlabel=label)
    ax.set_xlim(0, limit * 1.08)
    ax.tick_params(axis="y", length=0, labelsize=10)
    ax.invert_yaxis()
    ax.legend(frameon=False, ncols=min(len(names), 4), loc="lower left", bbox_to_anchor=(0, 1), fontsize=9)
    return fig
