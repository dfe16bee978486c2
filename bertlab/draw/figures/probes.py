"""Figures of what is in the states of a model, layer by layer: the probe itself, accuracies beside controls, maps."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bertlab.draw.figures.base import INK, arrow, box, canvas, clean, figure, number_grid, panel
from bertlab.draw.palette import BLUE, GREEN, GREY, ORANGE, PINK
from bertlab.explain.probes import Probed

COLOURS = [BLUE, ORANGE, GREEN]
LIMIT = 0.8  # where the colours of a map end
GAIN = 0.05  # about two standard errors of a share of 400 words: what is smaller may be chance


def probe_flow(layers: int, words: Sequence[str], labels: Sequence[str], drawn: Sequence[str]) -> Figure:
    """A frozen encoder on the left; the states of one layer go to a linear probe, which has to say the true labels, and
    to another, which has to say labels drawn for each word type."""
    fig, ax = canvas(3.3)
    for number in range(layers + 1):
        name = "embeddings" if number == 0 else f"layer {number}"
        box(ax, 0.15, 2.55 - 0.44 * number, 1.5, name, GREEN if number == layers - 1 else "white")
    ax.text(0.95, 3.1, "frozen: nothing is trained here", ha="center", size=8.5, color="#555555")
    y = 2.55 - 0.44 * (layers - 1) + 0.15
    for row, (name, wanted, colour) in enumerate((("task", labels, BLUE), ("control task", drawn, ORANGE))):
        middle = 0.8 + 1.35 * row
        arrow(ax, (1.68, y), (2.55, middle))
        box(ax, 2.6, middle - 0.3, 1.5, "linear probe", PINK, height=0.6)
        arrow(ax, (4.15, middle), (4.7, middle))
        ax.text(4.75, middle - 0.4, name, size=10.5, weight="bold", color=INK, va="center")
        for column, (word, label) in enumerate(zip(words, wanted, strict=True)):
            x = 4.75 + 1.05 * column
            box(ax, x, middle - 0.22, 0.95, label, colour, size=8.5)
            ax.text(x + 0.47, middle + 0.22, word, ha="center", va="center", size=9, family="monospace", color=INK)
    return fig


def layer_panels(results: Mapping[str, Mapping[str, Sequence[Probed]]]) -> Figure:
    """A panel for each property: accuracy of the probe after each layer (solid) and on the control task (dashed), in a
    colour for each model; dotted what always guessing the commonest label reaches."""
    columns = min(3, len(results))
    rows = -(-len(results) // columns)
    fig = figure(0.55 + 2.25 * rows)
    axes = fig.subplots(rows, columns, sharey=True, squeeze=False)
    for ax in axes.flat[len(results) :]:
        ax.set_axis_off()
    for ax, (title, models) in zip(axes.flat, results.items(), strict=False):
        _panel(ax, models)
        ax.set_title(title, size=10, loc="left")
    for ax in axes[:, 0]:
        ax.set_ylabel("share right", size=9)
    handles, names = axes.flat[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False, fontsize=8.5)
    return fig


def _panel(ax: Axes, models: Mapping[str, Sequence[Probed]]) -> None:
    clean(ax, "left", "bottom").grid(axis="y", alpha=0.25, color=GREY)
    for (name, probed), colour, marker in zip(models.items(), COLOURS, "osD", strict=False):
        accuracy, control = zip(*((each.accuracy, each.control) for each in probed), strict=True)
        ax.plot(accuracy, color=colour, marker=marker, ms=5, lw=2, label=name, clip_on=False)
        ax.plot(control, color=colour, marker=marker, ms=3, lw=1.2, ls="--", label=f"{name}: control", clip_on=False)
    guess = next(iter(models.values()))[0].majority
    ax.axhline(guess, color=INK, ls=":", lw=1, label="always one label")
    ax.set(ylim=(0, 1.03), xticks=range(len(probed)))
    ax.set_xlabel("layer (0: embeddings)", size=9)


def property_map(rows: Mapping[str, Sequence[float]], label: str) -> Figure:
    """A row for each property, a column for each layer: blue above zero, orange below. The colours end at LIMIT, so
    maps can be compared. The largest of a row is bold if it is at least GAIN; a line below the map says so."""
    values = np.array(list(rows.values()))
    fig, ax = panel(1.15 + 0.42 * len(rows))
    layers = ["embeddings", *(f"layer {number}" for number in range(1, values.shape[1]))]
    image = number_grid(ax, values, list(rows), layers, limit=LIMIT, bold_from=GAIN)
    ax.set_title(label, size=10, loc="left")
    ax.set_xlabel(f"bold: the largest gain of a row, if it is {GAIN} or more", size=9)
    fig.colorbar(image, ax=ax).set_label("gain", size=9)
    return fig


def effect_bars(groups: Mapping[str, Mapping[str, Sequence[float]]], label: str) -> Figure:
    """A panel for each group: a bar for the mean of each name's values, with one standard error;
    grey where the name is "random token" or "best possible"."""
    fig = figure(0.75 + 0.3 * max(map(len, groups.values())))
    for number, (ax, (title, named)) in enumerate(
        zip(fig.subplots(1, len(groups), squeeze=False)[0], groups.items(), strict=True)
    ):
        means = [float(np.mean(values)) for values in named.values()]
        errors = [float(np.std(values) / max(1, len(values)) ** 0.5) for values in named.values()]
        colours = [GREY if name in ("random token", "best possible") else BLUE for name in named]
        ax.barh(range(len(named)), means, xerr=errors, color=colours, height=0.7, error_kw={"ecolor": INK, "lw": 1})
        ax.set_yticks(range(len(named)), list(named) if number == 0 else [""] * len(named), size=10)
        ax.set_xlabel(label, size=9)
        ax.set_title(title, size=10, loc="left")
        ax.tick_params(axis="y", length=0)
        clean(ax, "bottom").invert_yaxis()
    return fig
