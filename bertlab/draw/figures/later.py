"""Figures of what later papers changed in BERT."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from bertlab.draw.figures.base import arrow, box, canvas
from bertlab.draw.palette import BLUE, GREEN, ORANGE, PINK

KINDS = {"text and task": BLUE, "size": GREEN, "layer": ORANGE, "computation": PINK}


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
        box(ax, 2.15 + 1.42 * number, 0.08, 1.3, kind, colour, size=8, height=0.24)
    return fig
