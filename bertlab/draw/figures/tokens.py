"""Matplotlib figures of the chapter on tokens: from text to numbers, one word being cut, pieces being joined."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from bertlab.draw.figures.base import INK, WIDTH, box, canvas
from bertlab.draw.palette import BLUE, GREEN, GREY, ORANGE, PINK
from bertlab.explain.pieces import CutWord, Try

LETTER = 0.085  # inches that a monospaced letter of 10 points takes
LEFT = 0.95  # room for the names of rows


def way_to_numbers(words: Sequence[CutWord]) -> Figure:
    """Four rows, a column for each word: as written, cleaned, its pieces, their numbers."""
    pieces = [[max(len(piece) * LETTER + 0.14, 0.42) for piece in word.pieces] for word in words]
    names = [len(word.written) * LETTER + 0.14 for word in words]
    widths = [max(sum(row) + 0.05 * (len(row) - 1), name) for row, name in zip(pieces, names, strict=True)]
    stretch = (WIDTH - LEFT - 0.1 - 0.12 * (len(words) - 1)) / sum(widths)
    fig, ax = canvas(2.2)
    for number, name in enumerate(("written", "cleaned", "pieces", "numbers")):
        ax.text(0.1, 0.3 + 0.53 * number, name, va="center", size=11, weight="bold", color=INK)
    x = LEFT
    for word, shares, width in zip(words, pieces, widths, strict=True):
        width *= stretch
        box(ax, x, 0.15, width, word.written, "white")
        box(ax, x, 0.68, width, word.cleaned, "white" if word.cleaned == word.written else PINK)
        step = (width - 0.05 * (len(shares) - 1)) / sum(shares)
        left = x
        for piece, share, number in zip(word.pieces, shares, word.ids, strict=True):
            colour = ORANGE if piece == "[UNK]" else GREEN if len(shares) > 1 else BLUE
            box(ax, left, 1.21, share * step, piece, colour)
            box(ax, left, 1.74, share * step, str(number), colour, size=9)
            left += share * step + 0.05
        x += width + 0.12
    return fig


def match_steps(word: str, tries: Sequence[Try]) -> Figure:
    """Draw one row for each look-up in the vocabulary: the letters that were tried, blue where they are a piece."""
    cell = min(0.4, (WIDTH - 3.2) / len(word))
    fig, ax = canvas(0.25 + 0.29 * len(tries))
    for row, (start, end, known) in enumerate(tries):
        y = 0.12 + 0.29 * row
        piece = ("##" if start else "") + word[start:end]
        for letter in range(start, len(word)):
            colour = "white" if letter >= end else BLUE if known else ORANGE
            box(ax, 0.1 + letter * cell, y, cell - 0.03, word[letter], colour, size=9, height=0.24)
        verdict: dict = dict(weight="bold", color=BLUE) if known else dict(color=GREY)
        text = f"{piece}  is a piece" if known else f"{piece}  is no piece"
        x = 0.25 + len(word) * cell
        ax.text(x, y + 0.12, text, va="center", size=9.5, family="monospace", parse_math=False, **verdict)
    return fig


def joining(moments: Mapping[str, Sequence[Sequence[str]]]) -> Figure:
    """One row for each moment of training: the same words as they are cut then; joined pieces in blue."""
    columns = zip(*moments.values(), strict=True)
    sizes = [max(sum(map(_width, cut)) for cut in column) + 0.25 for column in columns]
    scale = min(1.0, (WIDTH - 1.5) / sum(sizes))
    fig, ax = canvas(0.2 + 0.4 * len(moments))
    for row, (name, words) in enumerate(moments.items()):
        y, left = 0.12 + 0.4 * row, 1.5
        ax.text(0.1, y + 0.15, name, va="center", size=10, color=INK)
        for word, size in zip(words, sizes, strict=True):
            x = left
            for piece in word:
                colour = BLUE if len(piece.removeprefix("##")) > 1 else "white"
                box(ax, x, y, (_width(piece) - 0.04) * scale, piece, colour, size=9.5 * scale)
                x += _width(piece) * scale
            left += size * scale
    return fig


def _width(piece: str) -> float:
    return max(len(piece), 2) * LETTER + 0.12
