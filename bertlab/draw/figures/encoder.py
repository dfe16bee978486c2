"""Figures of the encoder: the signal, parameters by part, later changes."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter
from torch import Tensor

from bertlab.draw.figures.base import INK, arrow, box, canvas, clean, figure, number_grid, panel
from bertlab.draw.palette import BLUE, GREEN, OKABE_ITO, ORANGE, PINK
from bertlab.explain.ablation import Signal

KINDS = {"text and task": BLUE, "size": GREEN, "layer": ORANGE, "computation": PINK}  # of changes to BERT


def changes_map(changes: Mapping[str, Sequence[tuple[str, str]]]) -> Figure:
    """A BERT from bottom to top, a box for each part; beside it what changed there, as (words, kind), coloured by kind.

    The first part of `changes` stands at the top.
    """
    step = 0.62
    fig, ax = canvas(0.55 + step * len(changes))
    for number, (part, found) in enumerate(changes.items()):
        y = 0.5 + step * number
        box(ax, 0.1, y, 1.75, part, "white", size=9.5, height=0.38)
        if number:
            arrow(ax, (0.97, y - 0.02), (0.97, y - step + 0.4))
        width = 5.7 / max(2, len(found))
        for column, (words, kind) in enumerate(found):
            box(ax, 2.15 + column * width, y, width - 0.12, words, KINDS[kind], size=8.2, height=0.38)
    for number, (kind, colour) in enumerate(KINDS.items()):
        x = 2.15 + 1.42 * number
        ax.add_patch(Rectangle((x, 0.12), 0.16, 0.16, facecolor=colour + "33", edgecolor=colour))
        ax.text(x + 0.24, 0.2, kind, va="center", size=9, color=INK)
    return fig


def signals(found: Mapping[str, Signal]) -> Figure:
    """For each kind of encoder, layer by layer: size of the states, difference between tokens, the gradient.

    The first kind is drawn as a broad pale line below the others, so that it shows where they coincide.
    """
    fig = figure(3.5)
    axes = fig.subplots(1, 3, sharey=True)
    panels = [
        ("sizes", "size of the states"),
        ("differences", "difference between tokens"),
        ("gradients", "gradient that arrives"),
    ]
    for ax, (field, title) in zip(axes, panels, strict=True):
        for (name, each), colour, marker in zip(found.items(), OKABE_ITO, " s^D", strict=False):
            values = [max(value, 1e-12) for value in getattr(each, field)]  # 0 has no place on a logarithmic axis
            broad = marker == " "
            style: dict = dict(lw=7, alpha=0.35) if broad else dict(lw=2, marker=marker, ms=4, markevery=6)
            ax.plot(values, color=colour, label=name, solid_capstyle="butt", **style)
        clean(ax, "left", "bottom").set(yscale="log", xlabel="after layer", ylim=(3e-13, 1e4))
        ax.set_xticks(range(0, len(values), max(len(values) // 4, 1)))
        ax.set_title(title, size=10.5)
        ax.grid(axis="y", alpha=0.25)
    axes[0].set_ylabel("at the bottom: 0, or below 1e-12", size=9)
    fig.legend(*axes[0].get_legend_handles_labels(), frameon=False, ncols=4, loc="outside lower center", fontsize=9)
    return fig


def parts_grid(shares: Tensor, parts: Sequence[str], label: str) -> Figure:
    """Shares (L, P) between 0 and 1: a row for each layer, a column for each part that was taken out of it."""
    fig, ax = panel(0.8 + 0.42 * len(shares))
    image = number_grid(ax, shares.numpy(), [f"layer {i + 1}" for i in range(len(shares))], parts, ".2f")
    fig.colorbar(image, ax=ax).set_label(label, size=9)
    return fig


def parameter_bars(models: Mapping[str, Mapping[str, int]]) -> Figure:
    """One bar for each model, cut into the shares of its parts; in each part its parameters in millions."""
    fig, ax = panel(1.2 + 0.7 * len(models), "bottom")
    for row, parts in enumerate(models.values()):
        whole, left = sum(parts.values()), 0.0
        for (name, count), colour in zip(parts.items(), OKABE_ITO, strict=False):
            share = count / whole
            ax.barh(row, share, left=left, color=colour, alpha=0.75, height=0.7, label=name if row == 0 else None)
            if share > 0.05:
                shown = f"{count / 1e6:.1f} M\n{share:.0%}"
                ax.text(left + share / 2, row, shown, ha="center", va="center", size=10, color=INK)
            left += share
        ax.text(1.01, row, f"{whole / 1e6:.1f} M", va="center", size=10, weight="bold", color=INK)
    ax.set_yticks(range(len(models)), list(models), size=10.5)
    ax.set(xlabel="share of all parameters", xlim=(0, 1.12), xticks=[0, 0.25, 0.5, 0.75, 1])
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    fig.legend(frameon=False, ncols=5, loc="outside lower center", fontsize=9)
    return fig
