"""Figures of two texts: three ways to bring them together, what each costs, how like vectors are."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertlab.draw.figures.base import INK, arrow, box, canvas, clean, figure, panel
from bertlab.draw.palette import BLUE, GREEN, GREY, OKABE_ITO, ORANGE, PINK

MARKS = "osD^v"


def three_ways() -> Figure:
    """Draw a cross-encoder, a bi-encoder and the rows of a multiple choice: texts below, results above."""
    fig, ax = canvas(3.05)
    _cross(ax, 0.15)
    _both(ax, 2.85)
    _choices(ax, 5.65)
    return fig


def _title(ax: Axes, x: float, width: float, title: str, result: str) -> None:
    ax.text(x + width / 2, 0.16, title, ha="center", va="center", size=11, weight="bold", color=INK)
    ax.text(x + width / 2, 2.86, result, ha="center", va="center", size=9, color="#555555")


def _cross(ax: Axes, x: float) -> None:
    _title(ax, x, 2.2, "cross-encoder", "one run for each pair")
    box(ax, x + 0.6, 0.4, 1.0, "class", PINK)
    arrow(ax, (x + 1.1, 1.1), (x + 1.1, 0.74))
    box(ax, x, 1.1, 2.2, "BERT", BLUE, height=0.55)
    for start, text, colour in ((0.0, "text A", GREEN), (1.15, "text B", ORANGE)):
        arrow(ax, (x + start + 0.52, 2.3), (x + start + 0.52, 1.69))
        box(ax, x + start, 2.3, 1.05, text, colour)


def _both(ax: Axes, x: float) -> None:
    _title(ax, x, 2.4, "bi-encoder", "one run for each text")
    box(ax, x + 0.65, 0.4, 1.1, "cosine", PINK)
    for start, text, colour in ((0.0, "text A", GREEN), (1.3, "text B", ORANGE)):
        middle = x + start + 0.55
        arrow(ax, (middle, 2.3), (middle, 1.99))
        box(ax, x + start, 2.3, 1.1, text, colour)
        box(ax, x + start, 1.55, 1.1, "BERT", BLUE, height=0.42)
        arrow(ax, (middle, 1.55), (middle, 1.33))
        box(ax, x + start, 1.02, 1.1, "vector", "white")
        arrow(ax, (middle, 1.02), (x + 1.2 + (0.25 if start else -0.25), 0.74))
    ax.text(x + 1.2, 1.76, "=", ha="center", va="center", size=13, color=INK)


def _choices(ax: Axes, x: float) -> None:
    _title(ax, x, 2.2, "choices as rows", "one run for each choice")
    box(ax, x + 0.55, 0.4, 1.1, "softmax", PINK)
    box(ax, x, 1.1, 2.2, "BERT", BLUE, height=0.42)
    for row in range(3):
        middle = x + 0.4 + 0.7 * row
        arrow(ax, (middle, 1.1), (x + 1.1 + 0.3 * (row - 1), 0.74))
        y = 1.85 + 0.28 * row
        box(ax, x, y, 1.05, "text A", GREEN, size=8.5, height=0.23)
        box(ax, x + 1.12, y, 1.08, f"choice {row + 1}", ORANGE, size=8.5, height=0.23)
    arrow(ax, (x + 1.1, 1.83), (x + 1.1, 1.56))


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
