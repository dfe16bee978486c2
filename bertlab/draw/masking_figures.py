"""Matplotlib figures of the chapter on masked words: ids and labels of a row, the way through the head."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from bertlab.draw.figures import ACTION_COLOURS, INK, WIDTH, arrow, box, canvas
from bertlab.draw.palette import BLUE, GREEN, ORANGE, PINK
from bertlab.inputs.masking import IGNORED


def ids_and_labels(tokens: Sequence[str], ids: Sequence[int], labels: Sequence[int], actions: Sequence[int]) -> Figure:
    """What goes in and what is asked for, S numbers each, below the S tokens; coloured by what was done."""
    fig, ax = canvas(1.55)
    left, step = 1.05, (WIDTH - 1.15) / len(tokens)
    for row, name in enumerate(("token", "input_ids", "labels")):
        ax.text(0.1, 0.32 + 0.45 * row, name, va="center", size=10, weight="bold", color=INK)
    for place, (token, number, label, action) in enumerate(zip(tokens, ids, labels, actions, strict=True)):
        x, width = left + place * step, step - 0.05
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
    """One table of word vectors, used twice: at the entrance by lookup, at the exit by dot product."""
    fig, ax = canvas(2.6)
    steps = [
        (0.1, 1.0, "input_ids\n(B, S)", "white"),
        (1.45, 1.15, "embeddings\n(B, S, H)", PINK),
        (2.95, 0.95, "layers\n(B, S, H)", ORANGE),
        (4.25, 1.6, "dense, GELU, norm\n(B, S, H)", GREEN),
        (6.2, 1.7, "scores + bias\n(B, S, V)", PINK),
    ]
    for x, width, text, colour in steps:
        box(ax, x, 0.35, width, text, colour, size=9, height=0.6)
    for (x, width, *_), (after, *_) in zip(steps, steps[1:], strict=False):
        arrow(ax, (x + width, 0.65), (after, 0.65), shrinkB=0)
    box(ax, 2.9, 1.95, 2.2, "word vectors W (V, H)", BLUE, size=10, height=0.5)
    for start, end, x, use in ((2.9, 2.02, 1.0, "lookup: row of W"), (5.1, 7.05, 6.3, "product with W.T")):
        arrow(ax, (start, 2.2), (end, 0.95), shrinkB=0)
        ax.text(x, 1.75, use, va="center", size=9, color=BLUE)
    ax.text(6.07, 0.17, "the head", ha="center", va="center", size=10, weight="bold", color=INK)
    return fig
