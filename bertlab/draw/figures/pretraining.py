"""Figures of masking and of sentence pairs."""

import textwrap
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.draw.figures.base import ACTION_COLOURS, INK, WIDTH, arrow, box, canvas, clean, figure
from bertlab.draw.palette import BLUE, GREY, OKABE_ITO, ORANGE


def ids_and_labels(tokens: Sequence[str], ids: Sequence[int], labels: Sequence[int], actions: Sequence[int]) -> Figure:
    """What goes in and what is asked for, S numbers each, below the S tokens; coloured by what was done."""
    fig, ax = canvas(1.55)
    left, step = 1.05, (WIDTH - 1.15) / len(tokens)
    for row, name in enumerate(("token", "input_ids", "labels")):
        ax.text(0.1, 0.32 + 0.45 * row, name, va="center", size=10, weight="bold", color=INK)
    for index, (token, number, label, action) in enumerate(zip(tokens, ids, labels, actions, strict=True)):
        x, width = left + index * step, step - 0.05
        asked = ACTION_COLOURS[action]
        box(ax, x, 0.17, width, token, asked, size=7.5)
        box(ax, x, 0.62, width, str(number), asked, size=7.5)
        weight, ink = ("normal", "#999999") if label == IGNORED else ("bold", INK)
        style: dict = dict(ha="center", va="center", size=7.5, family="monospace", weight=weight, color=ink)
        ax.text(x + width / 2, 1.22, str(label), **style)
    return fig


LETTERS = 44  # of a line of text in a box
RIGHT = 4.15  # inches from the left: the pairs that are made
LINE = 0.42  # inches from the first text of a pair to its second


def pairs_from_documents(documents: Sequence[tuple[str, str]], kept: tuple[str, str]) -> Figure:
    """Two documents, each in two texts, exchange their second ones; a third pair, `kept`, stays as it is."""
    fig, ax = canvas(3.4)
    for x, title in ((0.1, "three true pairs"), (RIGHT, "what the model gets"), (7.25, "label")):
        ax.text(x, 0.2, title, va="center", size=11, weight="bold", color=INK)
    rows = [(*documents[0], BLUE), (*documents[1], ORANGE), (*kept, GREY)]
    seconds = [(documents[1][1], ORANGE), (documents[0][1], BLUE), (kept[1], GREY)]
    for row, ((first, second, colour), (new, new_colour)) in enumerate(zip(rows, seconds, strict=True)):
        y = 0.42 + 1.0 * row
        _text(ax, 0.1, y, first, colour)
        _text(ax, 0.1, y + LINE, second, colour)
        _text(ax, RIGHT, y, first, colour)
        _text(ax, RIGHT, y + LINE, new, new_colour)
        swapped = row < 2
        ax.text(7.25, y + LINE, "1\nNotNext" if swapped else "0\nIsNext", va="center", size=9.5, color=INK)
        down = (1.0, -1.0, 0)[row]  # inches, to where the second text goes
        for start, end in ((0.18, 0.18), (0.18 + LINE, 0.18 + LINE + down)):
            arrow(ax, (3.05, y + start), (RIGHT, y + end), colour, mutation_scale=10, lw=1.4)
    return fig


def _text(ax: Axes, x: float, y: float, text: str, colour: str) -> None:
    """A box with a text in at most two lines."""
    lines = textwrap.wrap(text, LETTERS, max_lines=2, placeholder=" …")
    box(ax, x, y, 2.95, "\n".join(lines), colour, size=7.5, height=0.36)


def pair_log_odds(log_odds: Mapping[str, Tensor], labels: Tensor) -> Figure:
    """For each model how many pairs get which log-odds (N,) of IsNext: true pairs (label 0) and negatives (1)."""
    fig = figure(2.6)
    limit = 1.05 * max(float(values.abs().max()) for values in log_odds.values())
    for ax, (name, values) in zip(fig.subplots(1, len(log_odds), squeeze=False)[0], log_odds.items(), strict=True):
        kinds = [values[labels == label].tolist() for label in (0, 1)]
        names, colours = ["true pairs", "negatives"], [OKABE_ITO[0], OKABE_ITO[1]]
        ax.hist(kinds, bins=24, range=(-limit, limit), stacked=True, color=colours, label=names)
        ax.axvline(0, color=INK, lw=1)
        ax.set_title(name, size=10.5, loc="left")
        ax.set_xlabel("log-odds that the second text follows", size=9)
        clean(ax, "left", "bottom")
    fig.axes[0].set_ylabel("pairs", size=9)
    fig.legend(*fig.axes[0].get_legend_handles_labels(), frameon=False, ncols=2, loc="outside lower center", fontsize=9)
    return fig
