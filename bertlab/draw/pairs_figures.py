"""Matplotlib figures of the chapter on next sentences: pairs made of documents, verdicts of a model."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from bertlab.draw.figures import INK, arrow, box, canvas, clean, figure
from bertlab.draw.palette import BLUE, GREY, OKABE_ITO, ORANGE

SHOWN = 40  # letters of a text
RIGHT = 4.15  # inches from the left: the pairs that are made


def pairs_from_documents(documents: Sequence[tuple[str, str]], kept: tuple[str, str]) -> Figure:
    """Two documents, each in two texts, exchange their second ones; a third pair, `kept`, stays as it is."""
    fig, ax = canvas(2.75)
    for x, title in ((0.1, "neighbours"), (RIGHT, "first and second text, and the label")):
        ax.text(x, 0.2, title, va="center", size=11, weight="bold", color=INK)
    rows = [(*documents[0], BLUE), (*documents[1], ORANGE), (*kept, GREY)]
    seconds = [(documents[1][1], ORANGE), (documents[0][1], BLUE), (kept[1], GREY)]
    for row, ((first, second, colour), (new, new_colour)) in enumerate(zip(rows, seconds, strict=True)):
        y = 0.45 + 0.8 * row
        _text(ax, 0.1, y, first, colour)
        _text(ax, 0.1, y + 0.33, second, colour)
        _text(ax, RIGHT, y, first, colour)
        _text(ax, RIGHT, y + 0.33, new, new_colour)
        swapped = row < 2
        ax.text(7.25, y + 0.32, "1\nNotNext" if swapped else "0\nIsNext", va="center", size=9.5, color=INK)
        down = (0.8, -0.8, 0)[row]  # inches, to the place of the second text
        for start, end in ((0.15, 0.15), (0.48, 0.48 + down)):
            arrow(ax, (3.05, y + start), (RIGHT, y + end), colour, mutation_scale=10, lw=1.4)
    return fig


def _text(ax: Axes, x: float, y: float, text: str, colour: str) -> None:
    box(ax, x, y, 2.95, text if len(text) <= SHOWN else text[: SHOWN - 1] + "…", colour, size=8, height=0.28)


def verdicts(log_odds: Mapping[str, Tensor], labels: Tensor) -> Figure:
    """For each model how strongly it takes pairs for neighbours, log_odds (N,): true ones (label 0) and strangers."""
    fig = figure(2.6)
    for ax, (name, values) in zip(fig.subplots(1, len(log_odds), squeeze=False)[0], log_odds.items(), strict=True):
        limit = 1.05 * max(float(v.abs().max()) for v in log_odds.values())
        for label, kind, colour in ((0, "neighbours", OKABE_ITO[0]), (1, "strangers", OKABE_ITO[1])):
            ax.hist(
                values[labels == label].tolist(), bins=24, range=(-limit, limit), alpha=0.65, color=colour, label=kind
            )
        ax.axvline(0, color=INK, lw=1)
        ax.set_title(name, size=10.5, loc="left")
        ax.set_xlabel("log-odds that the second text follows", size=9)
        clean(ax, "left", "bottom")
    fig.axes[0].set_ylabel("pairs", size=9)
    fig.legend(*fig.axes[0].get_legend_handles_labels(), frameon=False, ncols=2, loc="outside lower center", fontsize=9)
    return fig
