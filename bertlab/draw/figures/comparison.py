"""Models side by side on each task, with intervals."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from bertlab.draw.figures.base import INK, Interval, clean, figure, panel
from bertlab.draw.palette import BLUE, GREY, ORANGE

ACROSS = 3  # panels in a row
VERDICTS = {"holds": BLUE, "reversed": ORANGE, "cannot tell": GREY}


def intervals(
    tasks: Mapping[str, Mapping[str, Interval]],
    label: str = "accuracy or F1",
    guesses: Mapping[str, float] | None = None,
) -> Figure:
    """One panel for each task, all on one scale: a row for each model, the point its figure, the line its 95% interval.
    `label`: of the figures. `guesses`: what needs no model, a dashed line in the panel of its task."""
    names = list(dict.fromkeys(name for models in tasks.values() for name in models))
    across = min(ACROSS, len(tasks))
    down = -(-len(tasks) // across)
    fig = figure(down * (0.7 + 0.26 * len(names)))
    axes = fig.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
    for ax, (task, models) in zip(axes, tasks.items(), strict=False):
        for name, (value, low, high) in models.items():
            spread = [[value - low], [high - value]]
            ax.errorbar(value, names.index(name), xerr=spread, fmt="o", color=BLUE, ms=5, lw=1.8, capsize=3)
        if guesses and task in guesses:
            ax.axvline(guesses[task], color=GREY, ls="--", lw=1.2)
        ax.set_yticks(range(len(names)), names, size=9, parse_math=False)
        ax.set_title(task, size=10, loc="left")
        ax.set_xlabel(label, size=9)
        ax.tick_params(labelbottom=True)
        ax.grid(axis="x", alpha=0.25, color=GREY)
        clean(ax, "bottom", "left")
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    for ax in axes[len(tasks) :]:
        ax.set_visible(False)
    return fig


def two_measures(
    found: Mapping[str, tuple[Interval, Interval]],
    labels: tuple[str, str],
    first: str,
    moved: Mapping[str, tuple[float, float]] | None = None,
) -> Figure:
    """Each name at its two figures, a line through them for the bounds of each; dashed lines through `first`, the model
    that the others are compared with. A name stands on the side that is away from it. `moved`: names that stand so
    many points (x, y) further off, with a line to their model."""
    fig, ax = panel(4.6, "left", "bottom")
    (middle, *_), (height, *_) = found[first]
    ax.axvline(middle, color=GREY, ls="--", lw=1, zorder=0)
    ax.axhline(height, color=GREY, ls="--", lw=1, zorder=0)
    around = [withStroke(linewidth=3, foreground="white")]  # so that lines do not cross the letters
    for name, ((x, left, right), (y, low, high)) in found.items():
        colour = ORANGE if name == first else BLUE
        ax.plot([left, right], [y, y], color=colour, lw=1.2, alpha=0.5)
        ax.plot([x, x], [low, high], color=colour, lw=1.2, alpha=0.5)
        ax.plot(x, y, "o", color=colour, ms=7)
        end, shift, align = (left, (-6, 0), "right") if x < middle else (right, (6, 0), "left")
        if name == first:
            end, shift = x, (5, 8)  # above the dashed line
        dx, dy = (moved or {}).get(name, (0, 0))
        lead: dict = {"arrowstyle": "-", "color": GREY, "lw": 0.8, "shrinkB": 5}
        ax.annotate(name, (end, y), (shift[0] + dx, shift[1] + dy), textcoords="offset points", ha=align, va="center",
                    size=9, color=INK, arrowprops=lead if dx or dy else None, path_effects=around,
                    parse_math=False)  # fmt: skip
    ax.margins(x=0.3)  # for the names
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return fig


def effects(groups: Mapping[str, Mapping[str, float]], label: str) -> Figure:
    """A row for each measure, under the question that it belongs to: a dot at its difference, its name beside it."""
    measures = [sorted(found.items(), key=lambda each: each[1]) for found in groups.values()]
    tops = np.cumsum([0, *(len(found) + 0.6 for found in measures)])  # a gap between questions
    fig, ax = panel(0.7 + 0.17 * tops[-1], "bottom")
    for top, found in zip(tops, measures, strict=False):
        ax.axhline(top - 0.8, color=GREY, lw=0.5, alpha=0.6)
        for row, (name, value) in enumerate(found):
            ax.plot(value, top + row, "o", color=BLUE, ms=5.5, clip_on=False)
            ax.annotate(name, (value, top + row), (7, 0), textcoords="offset points", va="center", size=8.5, color=INK)
    ax.axvline(0, color=GREY, lw=1)
    middles = [top + (len(found) - 1) / 2 for top, found in zip(tops, measures, strict=False)]
    ax.set(yticks=middles, yticklabels=list(groups), xlabel=label)
    ax.set_ylim(tops[-1] - 0.8, -0.8)
    ax.tick_params(axis="y", length=0, labelsize=10)
    ax.grid(axis="x", alpha=0.25, color=GREY)
    return fig


class Claimed(NamedTuple):
    """A difference with its interval, the verdict on it, whether a correction for many claims leaves it, and a note."""

    figure: Interval
    verdict: str
    kept: bool
    note: str


def verdicts(claims: Mapping[str, Mapping[str, Claimed]], label: str) -> Figure:
    """Under the title of each group a row for each claim: its difference and interval in the colour of the verdict, its
    note at the right. A dot is filled if the claim is kept."""
    rows = [(name, claim) for group, found in claims.items() for name, claim in [(group, None), *found.items()]]
    fig, ax = panel(0.9 + 0.2 * len(rows), "bottom")
    for y, (_, claim) in enumerate(rows):
        if claim:
            _claim(ax, y, claim)
    ax.axvline(0, color=GREY, ls="--", lw=1)
    ax.set(yticks=range(len(rows)), xlabel=label)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticklabels([name for name, _ in rows], parse_math=False, size=8.5)
    for text, (_, claim) in zip(ax.get_yticklabels(), rows, strict=True):
        text.set_fontweight("normal" if claim else "bold")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", alpha=0.25, color=GREY)
    handles = [Line2D([], [], color=colour, lw=2.5, label=name) for name, colour in VERDICTS.items()]
    handles.append(Line2D([], [], color=INK, marker="o", ls="", label="filled: left by the correction"))
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=9)
    return fig


def _claim(ax: Axes, y: int, claim: Claimed) -> None:
    (value, low, high), colour = claim.figure, VERDICTS[claim.verdict]
    inside = colour if claim.kept else "white"
    ax.errorbar(value, y, xerr=[[value - low], [high - value]], fmt="o", color=colour, mfc=inside, ms=6, lw=1.8)
    ax.annotate(claim.note, (1, y), (4, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                va="center", size=8.5, color=INK, annotation_clip=False)  # fmt: skip


def by_seed(values: Mapping[str, Sequence[float]], label: str, chance: float) -> Figure:
    """A row of seeds for each setting, as in seed_rows, and a line at chance."""
    fig, ax = panel(0.8 + 0.36 * len(values))
    seed_rows(ax, values)
    ax.axvline(chance, color=GREY, ls="--", lw=1.2)
    ax.text(chance, -0.82, " chance", size=9, color=INK, va="bottom")
    ax.set_xlabel(label)
    return fig


def seed_rows(ax: Axes, values: Mapping[str, Sequence[float]]) -> None:
    """One row for each name: a dot for each seed, one below the other, and a bar for the mean."""
    for row, seeds in enumerate(values.values()):
        ax.plot([np.mean(seeds)] * 2, [row - 0.36, row + 0.36], color=INK, lw=2, zorder=1.5)
        heights = row + np.linspace(-0.2, 0.2, len(seeds))  # the same seed stands at the same height in each row
        ax.plot(seeds, heights, "o", color=BLUE, ms=6, alpha=0.75, clip_on=False)
    ax.set(yticks=range(len(values)), yticklabels=list(values), ylim=(len(values) - 0.5, -0.8))
    clean(ax, "bottom").tick_params(axis="y", length=0, labelsize=10)


def drawn(draws: Mapping[str, np.ndarray], label: str) -> Figure:
    """Histograms of bootstrap draws on one axis, one below the other, each with its 95% interval; a line at 0."""
    fig = figure(0.6 + 0.95 * len(draws))
    low, high = min(map(np.min, draws.values())), max(map(np.max, draws.values()))
    axes = fig.subplots(len(draws), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (name, values) in zip(axes, draws.items(), strict=True):
        ax.hist(values, bins=np.linspace(min(low, 0), max(high, 0), 60).tolist(), color=BLUE, alpha=0.75)
        bounds = np.percentile(values, [2.5, 97.5])
        ax.plot(bounds, [0, 0], color=INK, lw=5, solid_capstyle="butt", clip_on=False)
        ax.axvline(0, color=GREY, ls="--", lw=1.2)
        ax.set(yticks=[])
        ax.set_title(f"{name}: {bounds[0]:+.2f} to {bounds[1]:+.2f}", size=10, loc="left")
        clean(ax, "bottom")
    axes[-1].set_xlabel(label)
    return fig
