"""Figures of two texts: what comparing them costs, how like vectors are."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bertlab.draw.figures.base import panel
from bertlab.draw.palette import GREEN, GREY, OKABE_ITO

MARKS = "osD^v"


def cost_curves(sizes: Sequence[int], seconds: Mapping[str, Sequence[float]], measured: int) -> Figure:
    """Draw seconds for one question against the size of the collection, both logarithmic; what lies above `measured`
    texts is calculated and dashed."""
    fig, ax = panel(3.6, "left", "bottom")
    known = [number for number, size in enumerate(sizes) if size <= measured]
    for (name, values), colour, mark in zip(seconds.items(), OKABE_ITO, MARKS, strict=False):
        ax.plot(sizes, values, color=colour, ls="--", lw=1.5)
        ax.plot([sizes[n] for n in known], [values[n] for n in known], color=colour, lw=2.2, marker=mark, label=name)
    ax.axvline(measured, color=GREY, lw=1, ls=":")
    for x, side, text in ((measured / 1.2, "right", "measured"), (measured * 1.2, "left", "calculated")):
        ax.text(x, 0.97, text, transform=ax.get_xaxis_transform(), ha=side, va="top", size=9, color="#555555")
    ax.set(xscale="log", yscale="log", xlabel="texts in the collection", ylabel="seconds for one question")
    for value, name in ((60, "a minute"), (3600, "an hour")):
        if value < max(map(max, seconds.values())):
            ax.axhline(value, color=GREY, lw=0.8, alpha=0.5)
            ax.text(sizes[0], value * 1.15, name, size=9, color="#555555")
    ax.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1.0), fontsize=9.5)
    return fig


def cosine_ranges(cosines: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Draw, for each name, the cosines of random pairs above those of partners: a bar for the middle half, white at the
    median, and a line from 5% to 95%."""
    fig, ax = panel(0.95 + 0.5 * len(cosines), "bottom")
    for y, (apart, partners) in enumerate(cosines.values()):
        _range(ax, y - 0.16, apart, GREY)
        _range(ax, y + 0.16, partners, GREEN)
    ax.set(yticks=range(len(cosines)), yticklabels=list(cosines), ylim=(len(cosines) - 0.5, -0.5))
    ax.set_xlabel("cosine of two vectors (bar: the middle half, line: 5% to 95%, white: the median)")
    ax.tick_params(axis="y", length=0, labelsize=10)
    ax.grid(axis="x", alpha=0.25, color=GREY)
    handles = [Patch(color=GREY, label="random pairs"), Patch(color=GREEN, label="partners")]
    fig.legend(handles=handles, frameon=False, ncols=2, loc="outside upper right", fontsize=9)
    return fig


def _range(ax: Axes, y: float, values: np.ndarray, colour: str) -> None:
    low, first, middle, third, high = np.percentile(values, [5, 25, 50, 75, 95])
    ax.plot([low, high], [y, y], color=colour, lw=1.5, zorder=1)
    ax.barh(y, third - first, 0.24, left=first, color=colour)
    ax.plot([middle, middle], [y - 0.12, y + 0.12], color="white", lw=2)
