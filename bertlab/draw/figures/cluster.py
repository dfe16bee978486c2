"""Figures of chapter 17: the roofline, where memory goes."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from bertlab.draw.figures.base import INK, panel
from bertlab.draw.palette import GREY, OKABE_ITO


def roofline(points: Mapping[str, tuple[float, float]], peak: float, bandwidth: float) -> Figure:
    """Measured rates over arithmetic intensity, (operations a byte, operations a second) by name, below the roof."""
    fig, ax = panel(3.9, "left", "bottom")
    lowest = min(x for x, _ in points.values()) / 2
    x = np.geomspace(lowest, 2 * max(x for x, _ in points.values()), 200)
    ax.plot(x, np.minimum(peak, x * bandwidth) / 1e9, color=INK, lw=2)
    ridge = peak / bandwidth
    ax.axvline(ridge, color=GREY, ls=":", lw=1.2)
    low = min(y for _, y in points.values()) / 2e9
    ax.text(ridge * 1.08, 1.15 * low, f"ridge: {ridge:.0f} operations a byte", size=9, color="#555555", va="bottom")
    for (name, (across, up)), colour, marker in zip(points.items(), OKABE_ITO * 3, "osD^vPXh<>" * 2, strict=False):
        ax.plot(across, up / 1e9, marker, color=colour, ms=9, label=name, ls="none", mfc="none", mew=2)
    ax.set(xscale="log", yscale="log", xlabel="arithmetic intensity: operations for each byte moved", ylim=(low, None))
    ax.set_ylabel("GFLOP/s")
    ax.grid(alpha=0.2, color=GREY)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), fontsize=9)
    return fig


def memory_bars(columns: Mapping[str, Mapping[str, float]]) -> Figure:
    """One bar for each title, its parts side by side in GB."""
    fig, ax = panel(0.9 + 0.42 * len(columns), "bottom")
    parts: Sequence[str] = list(dict.fromkeys(part for column in columns.values() for part in column))
    start = np.zeros(len(columns))
    hatches = ("", "///", "...", "xx", "++", "\\\\")
    for part, colour, hatch in zip(parts, OKABE_ITO, hatches, strict=False):
        sizes = np.array([column.get(part, 0.0) / 1e9 for column in columns.values()])
        ax.barh(range(len(columns)), sizes, left=start, color=colour, hatch=hatch, edgecolor="white", label=part)
        start += sizes
    for y, whole in enumerate(start):
        ax.text(whole + 0.01 * start.max(), y, f"{whole:.1f} GB", va="center", size=9.5, color=INK)
    ax.set(yticks=range(len(columns)), yticklabels=list(columns), xlabel="GB", xlim=(0, 1.12 * start.max()))
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig
