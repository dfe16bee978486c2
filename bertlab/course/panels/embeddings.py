"""Panels of the chapters on context and on input embeddings."""

from collections.abc import Mapping

import ipywidgets as widgets
from torch import Tensor

from bertlab.course.panels.base import LABEL, WIDE, Panel, image_html, line, panel, slider
from bertlab.course.panels.models import fills_html
from bertlab.draw.figures.embeddings import curves
from bertlab.draw.html.marked import token_strip
from bertlab.explain.words.context import uncovered
from bertlab.explain.words.fill import MaskedLM
from bertlab.tokenizer import Tokenizer


def context_panel(model: MaskedLM, tokenizer: Tokenizer, text: str, left: int = 0, right: int = 0) -> Panel:
    """A text with one [MASK], and the model's guesses with so many words in sight on either side of the gap."""
    sides = {name: slider(name, value, 0, 20) for name, value in {"left": left, "right": right}.items()}

    def show(text: str, left: int, right: int) -> str:
        tokens, fill = uncovered(model, tokenizer, text, left, right)
        masked = [token == tokenizer.mask_token for token in tokens]
        shown = [
            "?" if index == fill.position else "▢" if hidden else token
            for index, (token, hidden) in enumerate(zip(tokens, masked, strict=True))
        ]
        return token_strip(shown, [0] * len(tokens), tokens, masked) + fills_html([fill])

    return panel(show, text=line("text", text), **sides)


def positions_panel(similarities: Mapping[str, Tensor], position: int = 40) -> Panel:
    """`similarities` (P, P) of the position vectors, by the name of the moment; a slider for the moment, one for the
    position. The first moment stays in the picture, to compare with."""
    start, *_, last = similarities
    moment = widgets.SelectionSlider(
        options=list(similarities), value=last, description="moment", style=LABEL, layout=WIDE
    )
    count = len(similarities[start])

    def show(moment: str, position: int) -> str:
        rows = {name: similarities[name][position] for name in dict.fromkeys((moment, start))}
        return image_html(curves(rows, "position", f"cosine with position {position}", mark=position))

    return panel(show, moment=moment, position=slider("position", position, 0, count - 1))
