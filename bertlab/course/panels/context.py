"""A panel of contexts: uncover the words around a gap one by one."""

import ipywidgets as widgets

from bertlab.course.panels.base import LABEL, WIDE, Panel, line, panel
from bertlab.course.panels.models import fills_html
from bertlab.draw.marked import token_strip
from bertlab.explain.context import uncovered


def context_panel(model, tokenizer, text: str, left: int = 0, right: int = 0) -> Panel:
    """A text with one [MASK], and the model's guesses with so many words in sight on either side of the gap."""
    sides = {
        name: widgets.IntSlider(value, 0, 20, description=name, style=LABEL, layout=WIDE)
        for name, value in {"left": left, "right": right}.items()
    }

    def show(text: str, left: int, right: int) -> str:
        tokens, fill = uncovered(model, tokenizer, text, left, right)
        masked = [token == tokenizer.mask_token for token in tokens]
        shown = [
            "?" if place == fill.position else "▢" if hidden else token
            for place, (token, hidden) in enumerate(zip(tokens, masked, strict=True))
        ]
        return token_strip(shown, [0] * len(tokens), tokens, masked) + fills_html([fill])

    return panel(show, text=line("text", text), **sides)
