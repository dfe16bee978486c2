"""Figures of fine-tuning: an encoder and its new layer, verdicts on texts, labels needed, what moves in which layer."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bertlab.draw.figures.base import INK, arrow, box, canvas, clean, figure, panel
from bertlab.draw.palette import BLUE, GREEN, GREY, OKABE_ITO, ORANGE

MARKERS = "os^DvP*"
DASHES = ("-", "--", ":", "-.", (0, (1, 3)), (0, (5, 1)), (0, (3, 1, 1, 1)))


def new_layer(tokens: Sequence[str], layers: int, labels: Sequence[str], old: int, new: int) -> Figure:
    """Draw the pretrained encoder with the one new layer on its [CLS]; `old` and `new` are numbers of weights."""
    fig, ax = canvas(2.75)
    step = 5.0 / len(tokens)
    for number, token in enumerate(tokens):
        colour = ORANGE if number == 0 else "white"
        box(ax, 0.1 + number * step, 2.3, step - 0.08, token, colour, size=9)
        arrow(ax, (0.06 + (number + 0.5) * step, 2.28), (0.06 + (number + 0.5) * step, 2.08), GREY)
    ax.add_patch(Rectangle((0.1, 1.3), 4.92, 0.75, facecolor=BLUE + "33", edgecolor=BLUE))
    ax.text(2.56, 1.67, f"embeddings and {layers} layers: pretrained", ha="center", va="center", size=11, color=INK)
    middle = 0.06 + 0.5 * step
    arrow(ax, (middle, 1.28), (middle, 1.03), ORANGE)
    box(ax, 0.1, 0.7, 1.3, "pooler", BLUE)
    arrow(ax, (1.42, 0.85), (1.98, 0.85), ORANGE)
    box(ax, 2.0, 0.7, 1.5, "new layer", GREEN)
    arrow(ax, (3.52, 0.85), (3.98, 0.85), GREY)
    for number, label in enumerate(labels):
        box(ax, 4.0 + 0.8 * number, 0.7, 0.72, label, "white")
    for y, colour, text in ((1.5, BLUE, f"{old:,} weights, pretrained"), (1.9, GREEN, f"{new:,} weights, random")):
        ax.add_patch(Rectangle((5.35, y), 0.2, 0.2, facecolor=colour + "33", edgecolor=colour))
        ax.text(5.65, y + 0.1, text, va="center", size=10, color=INK)
    ax.text(0.1, 0.3, "All weights are trained on the task: fine-tuning.", va="center", size=11, color=INK)
    return fig


def verdicts(texts: Sequence[str], columns: Mapping[str, Sequence[float]], label: str) -> Figure:
    """A row for each text: what each model (a column) gives as the probability of `label`; above one half in blue."""
    left, top, height = 3.35, 0.5, 0.34
    fig, ax = canvas(top + 0.42 + height * len(texts))
    width = (8.0 - left - 0.1) / len(columns)
    for column, (name, values) in enumerate(columns.items()):
        x = left + column * width
        ax.text(x, 0.3, name, va="center", size=9.5, weight="bold", color=INK)
        for row, value in enumerate(values):
            _cell(ax, x, top + row * height, width - 0.15, value)
    for row, text in enumerate(texts):
        ax.text(0.1, top + row * height + 0.14, text, va="center", size=9.5, color=INK, parse_math=False)
    key = f"probability of “{label}”; orange: below one half (dotted)"
    ax.text(left, top + height * len(texts) + 0.2, key, va="center", size=9.5, color=INK)
    return fig


def _cell(ax: Axes, x: float, y: float, width: float, value: float) -> None:
    bar = width - 0.42
    ax.add_patch(Rectangle((x, y), bar, 0.27, facecolor="#F2F2F2"))
    ax.add_patch(Rectangle((x, y), bar * value, 0.27, facecolor=BLUE if value > 0.5 else ORANGE, alpha=0.6))
    ax.plot([x + bar / 2] * 2, [y, y + 0.27], color=INK, lw=0.8, ls=":")
    ax.text(x + bar + 0.06, y + 0.14, f"{value:.2f}", va="center", size=9, color=INK)


def labels_needed(curves: Mapping[str, Mapping[int, Sequence[float]]], chance: float, top: float = 1.02) -> Figure:
    """Accuracy against the number of labels, on a logarithmic scale; a line through the means, a dot for each run.

    The vertical axis ends at `top`.
    """
    fig, ax = panel(3.2, "left", "bottom")
    styles = zip(curves.items(), OKABE_ITO, DASHES, MARKERS, strict=False)
    for number, ((name, runs), colour, dashes, marker) in enumerate(styles):
        counts = list(runs)
        means = [sum(runs[count]) / len(runs[count]) for count in counts]
        ax.plot(counts, means, color=colour, ls=dashes, marker=marker, lw=2, label=name)
        for count in counts:
            aside = count * 1.035 ** (number - (len(curves) - 1) / 2)  # beside those of the others
            ax.plot([aside] * len(runs[count]), runs[count], color=colour, marker=marker, ms=4, alpha=0.5, ls="")
    ax.axhline(chance, color=GREY, lw=1, ls="--")
    below: dict = dict(transform=ax.get_yaxis_transform(), ha="right", va="top", size=9, color=GREY)
    ax.text(0.8, chance - 0.01, "guessing", **below)
    every = sorted({count for runs in curves.values() for count in runs})
    ax.set_xscale("log")
    ax.set_xticks(every, [f"{count:,}" for count in every])
    ax.minorticks_off()
    ax.set(xlabel="labels (logarithmic scale)", ylabel="accuracy on new text", ylim=(chance - 0.1, top))
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def by_layer(rows: Sequence[str], panels: Mapping[str, Sequence[float]]) -> Figure:
    """Panels side by side: one bar for each part of the model, the lowest at the bottom."""
    fig = figure(0.9 + 0.36 * len(rows))
    axes = fig.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (title, values), colour in zip(axes, panels.items(), OKABE_ITO, strict=False):
        clean(ax, "bottom").barh(range(len(rows)), values, color=colour, height=0.65)
        limit = 1.3 * max(*values, 1e-9)
        for y, value in enumerate(values):
            ax.text(value + 0.02 * limit, y, f"{value:.2f}", va="center", size=9.5, color=INK)
        ax.set(xlim=(0, limit))
        ax.locator_params(axis="x", nbins=3)
        ax.set_title(title, size=10, loc="left")
        ax.tick_params(axis="y", length=0, labelsize=10)
    axes[0].set_yticks(range(len(rows)), rows)
    return fig
