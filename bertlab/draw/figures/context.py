"""Figures of what a model sees of a text: which words are in sight, which decide a gap, which are alike."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.ticker import PercentFormatter
from torch import Tensor

from bertlab.draw.figures.base import INK, WIDTH, figure, number_grid, panel
from bertlab.draw.palette import BLUE, GREY, OKABE_ITO, ORANGE

MARKERS = "osD^v"
PALE = "#DDDDDD"  # out of sight


def who_sees_what(tokens: Sequence[str], gap: int, readers: Mapping[str, tuple[str, Sequence[bool]]]) -> Figure:
    """A row for each reader, with a remark: tokens in sight in blue, those out of sight pale, the gap in orange."""
    left, height = 1.75, 0.1 + 0.68 * len(readers)
    shares = np.array([len(token) + 2.5 for token in tokens])
    ends = left + (WIDTH - left - 0.1) * shares.cumsum() / shares.sum()
    fig = figure(height)
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(height, 0))
    ax.set_axis_off()
    for row, (name, (remark, seen)) in enumerate(readers.items()):
        y = 0.15 + 0.68 * row
        ax.text(0.1, y + 0.1, name, va="center", size=10.5, weight="bold", color=INK)
        ax.text(0.1, y + 0.34, remark, va="center", size=8.5, color="#555555")
        for index, (token, start, end) in enumerate(zip(tokens, [left, *ends[:-1]], ends, strict=True)):
            colour = ORANGE if index == gap else BLUE if seen[index] else PALE
            _token(ax, start, y, end - start - 0.05, token, colour)
    return fig


def _token(ax: Axes, x: float, y: float, width: float, text: str, colour: str) -> None:
    tint, ink = ("white", "#AAAAAA") if colour == PALE else (colour + "33", INK)
    shape = "round,pad=0,rounding_size=0.05"
    ax.add_patch(FancyBboxPatch((x, y), width, 0.33, boxstyle=shape, facecolor=tint, edgecolor=colour, lw=1.2))
    ax.text(x + width / 2, y + 0.17, text, ha="center", va="center", size=8.5, color=ink, parse_math=False)


def likeness_map(cosines: Tensor, groups: Mapping[str, Sequence[str]]) -> Figure:
    """The cosines of all words with all others (N, N), one group after the other, each in a frame."""
    words = [word for group in groups.values() for word in group]
    fig, ax = panel(6.2)
    image = ax.imshow(cosines.numpy(), cmap="cividis", vmin=0, vmax=1)
    first = 0
    for name, group in groups.items():
        corner, size = (first - 0.5, first - 0.5), len(group)
        ax.add_patch(Rectangle(corner, size, size, fill=False, edgecolor=ORANGE, lw=2))
        ax.text(len(words) - 0.2, first + size / 2 - 0.5, name, va="center", size=10, weight="bold", color=INK)
        first += size
    ax.set_xticks(range(len(words)), words, rotation=90, size=8.5, parse_math=False)
    ax.set_yticks(range(len(words)), words, size=8.5, parse_math=False)
    ax.tick_params(length=0)
    bar = fig.colorbar(image, ax=ax, shrink=0.6, pad=0.16, extend="min")
    bar.set_label("cosine (below 0: as 0)", size=9)
    return fig


def reader_bars(
    values: Mapping[str, Tensor],
    groups: Sequence[str],
    label: str,
    chance: float | None = None,
    chance_name: str = "a coin",
) -> Figure:
    """For each series its values (draws, groups): a bar for the mean over the draws, a dot for each draw. A dashed line
    at `chance`."""
    fig, ax = panel(3.1, "left", "bottom")
    width, x = 0.8 / len(values), np.arange(len(groups))
    for number, ((name, draws), colour) in enumerate(zip(values.items(), OKABE_ITO, strict=False)):
        index = x + width * (number + 0.5) - 0.4
        ax.bar(index, draws.mean(0).numpy(), width * 0.92, color=colour, alpha=0.55, label=name)
        aside = np.linspace(-0.25, 0.25, len(draws)) if len(draws) > 1 else [0.0]  # equal ones stay apart
        for shift, draw in zip(aside, draws.numpy(), strict=True):
            ax.scatter(
                index + shift * width, draw, color=colour, edgecolor="white", s=26, marker=MARKERS[number], zorder=3
            )
    if chance is not None:
        ax.axhline(chance, color=GREY, ls="--", lw=1.2, zorder=0)
        ax.text(len(groups) - 0.33, chance, chance_name, color=GREY, size=9, va="bottom", ha="right")
    ax.set_xticks(x, groups)
    ax.set(xlim=(-0.5, len(groups) - 0.32), ylim=(0, 1.08), ylabel=label)
    ax.legend(frameon=False, ncols=len(values), loc="lower center", bbox_to_anchor=(0.5, 1), fontsize=9.5)
    return fig


def reader_grid(rows: Mapping[str, Mapping[str, float]], label: str) -> Figure:
    """A row for each kind of gap, a column for each reader: a share from 0 to 1 as number and colour."""
    readers = list(dict.fromkeys(reader for shares in rows.values() for reader in shares))
    values = np.array([[shares[reader] for reader in readers] for shares in rows.values()])
    fig, ax = panel(1.1 + 0.42 * len(rows))
    names = [reader.replace(", ", ",\n") for reader in readers]
    image = number_grid(ax, values, list(rows), names, ".0%")
    fig.colorbar(image, ax=ax, aspect=12, format=PercentFormatter(1)).set_label(label, size=9)
    return fig


def context_grids(grids: Mapping[str, Tensor], tokens: Sequence[str], gap: int) -> Figure:
    """Side by side, (left + 1, right + 1) probabilities: upwards the words to the left of the gap come into sight, from
    the gap on, to the right those to its right. `tokens` without [CLS] and [SEP]."""
    lefts, rights = ["nothing", *reversed(tokens[:gap])], ["nothing", *tokens[gap + 1 :]]
    fig = figure(1.1 + 0.27 * len(lefts))
    for ax, (title, grid) in zip(fig.subplots(1, len(grids), squeeze=False)[0], grids.items(), strict=True):
        image = number_grid(ax, grid.numpy(), _added(lefts), _added(rights), ".0%", size=8)
        ax.invert_yaxis()
        ax.tick_params(axis="x", rotation=25)
        ax.set_xlabel("in sight to the right of the gap", size=9)
        ax.set_title(title, size=10, loc="left", parse_math=False)
    fig.axes[0].set_ylabel("in sight to the left of the gap", size=9)
    bar = fig.colorbar(image, ax=fig.axes, shrink=0.8, aspect=30, format=PercentFormatter(1))
    bar.set_label("probability", size=9)
    return fig


def _added(names: Sequence[str]) -> list[str]:
    return [names[0], *(f"+ {name}" for name in names[1:])]


def left_out_bars(tokens: Sequence[str], gap: int, series: Mapping[str, Sequence[float]], label: str) -> Figure:
    """For each token a bar of each series: the probability of the answer with that token hidden as well."""
    fig, ax = panel(2.9, "left", "bottom")
    x, width = np.arange(len(tokens)), 0.8 / len(series)
    for number, ((name, values), colour) in enumerate(zip(series.items(), OKABE_ITO, strict=False)):
        ax.bar(x + width * (number + 0.5) - 0.4, values, width * 0.92, color=colour, label=name)
    ax.axvspan(gap - 0.5, gap + 0.5, color=GREY, alpha=0.15, lw=0, zorder=0)
    ax.set_xticks(x, tokens, rotation=55, ha="right", rotation_mode="anchor", size=9, parse_math=False)
    ax.set(ylim=(0, 1.05), ylabel=label, xlim=(-0.6, len(tokens) - 0.4))
    ax.legend(frameon=False, ncols=len(series), loc="lower center", bbox_to_anchor=(0.5, 1), fontsize=9.5)
    return fig
