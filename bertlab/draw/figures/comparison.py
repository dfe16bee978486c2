"""Models side by side on each task, with intervals."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from matplotlib.figure import Figure

from bertlab.draw.figures.base import INK, Interval, clean, figure
from bertlab.draw.palette import BLUE, GREY, OKABE_ITO, ORANGE

ACROSS = 3  # panels in a row
NO_GUESSES: Mapping[str, float] = MappingProxyType({})


def intervals(
    tasks: Mapping[str, Mapping[str, Interval]],
    label: str = "accuracy or F1",
    guesses: Mapping[str, float] = NO_GUESSES,
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
        if task in guesses:
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


def effects(groups: Mapping[str, Mapping[str, float]], label: str) -> Figure:
    """One row for each question: a dot for each measure, its difference. To the right of each dot stands its name; the
    names of dots too close for that stand together, in two lines, in the order of the dots."""
    fig = figure(0.8 + 0.42 * len(groups))
    ax = clean(fig.subplots(), "bottom")
    room = 0.1 * max(abs(value) for measures in groups.values() for value in measures.values())
    for row, measures in enumerate(groups.values()):
        ax.plot([*measures.values()], [row] * len(measures), "o", color=BLUE, ms=7, alpha=0.75, clip_on=False)
        for names, last in _close_together(measures, room):
            half = -(-len(names) // 2)
            text = "\n".join(" · ".join(line) for line in (names[:half], names[half:]) if line)
            ax.annotate(text, (last, row), (9, 0), textcoords="offset points", va="center", size=9, color=INK)
    ax.axvline(0, color=GREY, lw=1)
    ax.set(yticks=range(len(groups)), yticklabels=list(groups), xlabel=label)
    ax.set_ylim(len(groups) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0, labelsize=10)
    ax.grid(axis="x", alpha=0.25, color=GREY)
    return fig


def _close_together(measures: Mapping[str, float], room: float) -> list[tuple[list[str], float]]:
    """Return the names of neighbours less than `room` apart, by rising value, and the value of the last of them."""
    found: list[tuple[list[str], float]] = []
    for name, value in sorted(measures.items(), key=lambda measure: measure[1]):
        near = bool(found) and value - found[-1][1] < room
        names, _ = found.pop() if near else ([], 0.0)
        found.append(([*names, name], value))
    return found


def by_seed(values: Mapping[str, Sequence[float]], label: str, chance: float) -> Figure:
    """One row for each setting: a dot for each seed, a bar for the mean, a dashed line at chance."""
    fig = figure(0.8 + 0.36 * len(values))
    ax = clean(fig.subplots(), "bottom")
    for row, seeds in enumerate(values.values()):
        ax.plot(seeds, [row] * len(seeds), "o", color=BLUE, ms=7, alpha=0.75, clip_on=False)
        ax.plot([np.mean(seeds)] * 2, [row - 0.3, row + 0.3], color=ORANGE, lw=3)
    ax.axvline(chance, color=GREY, ls="--", lw=1.2)
    ax.text(chance, -0.62, " chance", size=9, color=INK, va="bottom")
    ax.set(yticks=range(len(values)), yticklabels=list(values), xlabel=label)
    ax.set_ylim(len(values) - 0.5, -0.6)
    ax.tick_params(axis="y", length=0, labelsize=10)
    return fig


def drawn(draws: Mapping[str, np.ndarray], label: str) -> Figure:
    """Histograms of bootstrap draws on one axis, one below the other, each with its 95% interval; a line at 0."""
    fig = figure(0.6 + 0.95 * len(draws))
    low, high = min(map(np.min, draws.values())), max(map(np.max, draws.values()))
    axes = fig.subplots(len(draws), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (name, values), colour in zip(axes, draws.items(), OKABE_ITO, strict=False):
        ax.hist(values, bins=np.linspace(min(low, 0), max(high, 0), 60).tolist(), color=colour, alpha=0.75)
        bounds = np.percentile(values, [2.5, 97.5])
        ax.plot(bounds, [0, 0], color=INK, lw=5, solid_capstyle="butt", clip_on=False)
        ax.axvline(0, color=GREY, ls="--", lw=1.2)
        ax.set(yticks=[])
        ax.set_title(f"{name}: {bounds[0]:+.2f} to {bounds[1]:+.2f}", size=10, loc="left")
        clean(ax, "bottom")
    axes[-1].set_xlabel(label)
    return fig
