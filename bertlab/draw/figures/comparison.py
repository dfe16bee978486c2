"""Models side by side on each task, with intervals."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from bertlab.draw.figures.base import clean, figure
from bertlab.draw.palette import BLUE, GREY

ACROSS = 3  # panels in a row
Interval = tuple[float, float, float]  # value, low, high


def intervals(tasks: Mapping[str, Mapping[str, Interval]]) -> Figure:
    """One panel for each task: a row for each model, the point its figure, the line its 95% interval."""
    names = list(dict.fromkeys(name for models in tasks.values() for name in models))
    across = min(ACROSS, len(tasks))
    down = -(-len(tasks) // across)
    fig = figure(down * (0.7 + 0.26 * len(names)))
    axes = fig.subplots(down, across, squeeze=False, sharey=True).ravel()
    for ax, (task, models) in zip(axes, tasks.items(), strict=False):
        for name, (value, low, high) in models.items():
            spread = [[value - low], [high - value]]
            ax.errorbar(value, names.index(name), xerr=spread, fmt="o", color=BLUE, ms=5, lw=1.8, capsize=3)
        ax.set_yticks(range(len(names)), names, size=9, parse_math=False)
        ax.set_title(task, size=10, loc="left")
        ax.grid(axis="x", alpha=0.25, color=GREY)
        clean(ax, "bottom", "left")
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    for ax in axes[len(tasks) :]:
        ax.set_visible(False)
    return fig
