"""Figures of masking and of sentence pairs."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.draw.figures.base import ACTION_COLOURS, INK, WIDTH, arrow, box, canvas, clean, figure
from bertlab.draw.palette import BLUE, GREEN, GREY, OKABE_ITO, ORANGE, PINK


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
        ax.text(
            x + width / 2,
            1.22,
            str(label),
            ha="center",
            va="center",
            size=7.5,
            family="monospace",
            weight="normal" if label == IGNORED else "bold",
            color="#999999" if label == IGNORED else INK,
        )
    return fig


def head_flow() -> Figure:
    """One table of word vectors, used twice: for the input by lookup, in the output layer by dot product."""
    fig, ax = canvas(2.75)
    frame = "round,pad=0,rounding_size=0.1"
    ax.add_patch(FancyBboxPatch((4.3, 0.4), 3.6, 0.85, boxstyle=frame, facecolor="none", edgecolor=INK, ls="--"))
    ax.text(6.1, 0.22, "the head", ha="center", va="center", size=10, weight="bold", color=INK)
    steps = [
        (0.1, 1.0, "input_ids\n(B, S)", "white"),
        (1.5, 1.15, "embeddings\n(B, S, H)", PINK),
        (3.0, 0.95, "layers\n(B, S, H)", ORANGE),
        (4.4, 1.6, "dense, GELU, norm\n(B, S, H)", GREEN),
        (6.35, 1.45, "logits\n(B, S, V)", PINK),
    ]
    for x, width, text, colour in steps:
        box(ax, x, 0.52, width, text, colour, size=9, height=0.6)
    for (x, width, *_), (after, *_) in zip(steps, steps[1:], strict=False):
        arrow(ax, (x + width, 0.82), (after, 0.82), shrinkB=0)
    box(ax, 3.0, 2.1, 2.2, "word vectors W (V, H)", BLUE, size=10, height=0.5)
    uses = [(3.0, 2.08, 2.35, "right", "lookup: one row of W\nfor each id")]
    uses += [(5.2, 7.07, 6.2, "left", "product with W.T,\nplus a bias for each word")]
    for start, end, x, side, use in uses:
        arrow(ax, (start, 2.35), (end, 1.12), shrinkB=0)
        ax.text(x, 2.0, use, ha=side, va="center", size=9, color=BLUE)
    return fig


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
