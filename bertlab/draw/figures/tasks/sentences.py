"""Figures of two texts: what comparing them costs, how like vectors are."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from bertlab.draw.figures.base import clean, figure, panel
from bertlab.draw.palette import BLUE, GREY, OKABE_ITO, ORANGE

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


def cosine_histograms(cosines: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Draw, under each name, how the cosines of random pairs and those of partners are spread."""
    fig = figure(0.5 + 1.35 * len(cosines))
    axes = fig.subplots(len(cosines), 1, sharex=True, squeeze=False)[:, 0]
    edges = np.linspace(-0.4, 1, 57)
    for ax, (name, (apart, partners)) in zip(axes, cosines.items(), strict=True):
        for values, colour, hatch, label in (
            (apart, ORANGE, "///", "random pairs"),
            (partners, BLUE, None, "partners"),
        ):
            shares = np.histogram(values, edges)[0] / len(values)
            ax.bar(edges[:-1], shares, np.diff(edges), align="edge", color=colour, alpha=0.6, hatch=hatch, label=label,
                   edgecolor="white" if hatch else colour)  # fmt: skip
        ax.set_title(name, size=10, loc="left")
        ax.set_ylabel("share", size=9)
        clean(ax, "left", "bottom")
    axes[0].legend(frameon=False, ncols=2, loc="upper left")
    axes[-1].set_xlabel("cosine of two vectors")
    return fig
