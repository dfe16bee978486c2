"""Panel of the chapter on tokens: a text, the size of the vocabulary, and the pieces that follow."""

from collections.abc import Sequence
from html import escape

import ipywidgets as widgets

from bertlab.course.panels.base import Panel, line, panel, slider
from bertlab.draw.palette import BLUE, GREEN, ORANGE
from bertlab.explain.pieces import CutWord, cut_words, smallest_size, with_fewer_pieces
from bertlab.tokenizer import Tokenizer

PIECES = "display:flex;flex-wrap:wrap;gap:8px 14px"
PIECE = "display:inline-block;text-align:center;padding:2px 7px;margin-right:3px;border-radius:5px"


def pieces_panel(tokenizer: Tokenizer, text: str) -> Panel:
    """A line of text, the size of the vocabulary (from single letters to all that was learned), and lower-casing."""
    smallest, largest = smallest_size(tokenizer), tokenizer.vocab_size
    size = slider("vocabulary", largest, smallest, largest)
    lowercase = widgets.Checkbox(tokenizer.lowercase, description="lower-case the text, strip accents", indent=False)

    def show(text: str, size: int, lowercase: bool) -> str:
        return pieces_html(cut_words(with_fewer_pieces(tokenizer, size, lowercase), text))

    return panel(show, text=line("text", text), size=size, lowercase=lowercase)


def pieces_html(words: Sequence[CutWord]) -> str:
    """Words side by side, each with its pieces and their numbers; then how many there are."""
    boxes = "".join(f"<div>{_boxes(word)}</div>" for word in words)
    pieces = sum(len(word.pieces) for word in words)
    unknown = sum(word.pieces == ("[UNK]",) for word in words)
    counts = f"<p>{len(words)} words and marks, {pieces} pieces, {unknown} of them [UNK]</p>"
    return f'<div style="{PIECES}">{boxes}</div>{counts}'


def _boxes(word: CutWord) -> str:
    colour = ORANGE if word.pieces == ("[UNK]",) else GREEN if len(word.pieces) > 1 else BLUE
    look = f'style="{PIECE};border:1px solid {colour};background:{colour}26" title="{escape(word.written)}"'
    return "".join(
        f"<span {look}><bdi>{escape(piece)}</bdi><br><small>{number}</small></span>"
        for piece, number in zip(word.pieces, word.ids, strict=True)
    )
