"""Figures of a project of one's own: its steps, a training beside its baselines, and intervals."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from bertlab.draw.figures.base import INK, Interval, arrow, box, canvas, panel
from bertlab.draw.palette import BLUE, GREEN, GREY, OKABE_ITO, ORANGE


def way(steps: Sequence[tuple[str, str, str]]) -> Figure:
    """The steps in their order, each with the decision above it and the control below: (step, decision, control)."""
    fig, ax = canvas(2.6)
    width, free = 0.86, 0.12
    names, decisions, controls = zip(*steps, strict=True)
    rows = [("your decision", ORANGE, decisions), ("the step", BLUE, names), ("its control", GREEN, controls)]
    for row, (name, colour, texts) in enumerate(rows):
        y = 0.1 + 0.82 * row
        ax.text(0.12, y + 0.08, name, va="center", size=10, weight="bold", color=INK)
        for number, text in enumerate(texts):
            x = 0.12 + number * (width + free)
            box(ax, x, y + 0.22, width, text, colour, size=8.0, height=0.45)
            if number and texts is names:
                arrow(ax, (x - free, y + 0.445), (x, y + 0.445), INK, mutation_scale=7)
    return fig


def training(curves: Mapping[str, Mapping[int, float]], baselines: Mapping[str, float]) -> Figure:
    """The loss of several trainings by step, and baselines as lines across with their names at the right end."""
    fig, ax = panel(3.4, "left", "bottom")
    for (name, curve), colour, marker in zip(curves.items(), OKABE_ITO, "osD", strict=False):
        ax.plot(list(curve), list(curve.values()), color=colour, marker=marker, ms=5, lw=2, label=name, clip_on=False)
    right = max(step for curve in curves.values() for step in curve)
    for loss in baselines.values():
        ax.axhline(loss, color=GREY, ls=":", lw=1.4)
    lowest, highest = ax.get_ylim()
    free = lowest
    for name, loss in sorted(baselines.items(), key=lambda each: each[1]):
        free = max(free, loss)  # names of lines close to each other are moved apart
        ax.text(1.01 * right, free, name, va="center", size=9.5, color=INK)
        free += 0.06 * (highest - lowest)
    ax.set(xlabel="step", ylabel="loss per masked word (nats)", xlim=(0, right))
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
    return fig


def intervals(found: Mapping[str, Interval], label: str) -> Figure:
    """A point with its interval for each name, on an axis from 0 to 1."""
    fig, ax = panel(0.75 + 0.36 * len(found), "bottom")
    for y, (value, low, high) in enumerate(found.values()):
        ax.errorbar(value, y, xerr=[[value - low], [high - value]], fmt="o", color=BLUE, capsize=4, lw=2)
        inside = min(max(value, 0.15), 0.85)  # the numbers do not leave the axes
        ax.text(inside, y - 0.22, f"{value:.3f} ({low:.3f} to {high:.3f})", size=9, color=INK, ha="center")
    ax.set(yticks=range(len(found)), yticklabels=list(found), xlabel=label, xlim=(0, 1))
    ax.tick_params(axis="y", length=0, labelsize=10.5)
    ax.grid(axis="x", alpha=0.25, color=GREY)
    ax.set_ylim(len(found) - 0.5, -0.6)
    return fig
