"""A panel of a deep encoder with random weights: take a part out and see the signal die, layer by layer."""

import math

import ipywidgets as widgets

from bertlab.config import BertConfig
from bertlab.course.panels.base import LABEL, Panel, bar_cell, heading, line, panel, slider
from bertlab.draw.palette import BLUE, GREEN, ORANGE
from bertlab.explain.ablation import PARTS, Signal, ablated, random_model, signal
from bertlab.explain.text import encode
from bertlab.model import BertModel
from bertlab.tokenizer import Tokenizer


def ablation_panel(config: BertConfig, tokenizer: Tokenizer, text: str, without: tuple[str, ...] = ()) -> Panel:
    """An encoder of `config`, fresh, `without` some of bertlab.explain.ablation.PARTS; depth and weights to turn."""

    def show(text: str, layers: int, spread: float, seed: int, **out: bool) -> str:
        changed = config.changed(num_hidden_layers=layers, initializer_range=spread)
        model = random_model(BertModel, changed, seed)
        lacking = [part for part in PARTS if out[part]]
        batch = encode(tokenizer, text, limit=config.max_position_embeddings).batch
        return signal_html(signal(ablated(model, lacking), batch))

    boxes = {part: widgets.Checkbox(part in without, description=f"without {part}", style=LABEL) for part in PARTS}
    return panel(
        show,
        text=line("text", text),
        layers=slider("layers", 12, 1, 24),
        spread=slider("weights", config.initializer_range, 0.01, 0.2, step=0.01),
        seed=slider("seed", 0, 0, 20),
        **boxes,
    )


def signal_html(found: Signal) -> str:
    """A table: for each layer the size of the states, what tells the tokens apart, the gradient that arrives."""
    head = heading("after layer", "size", "tells tokens apart", "gradient")
    rows = zip(found.sizes, found.differences, found.gradients, strict=True)
    body = "".join(
        f"<tr><td>{number}</td>{_cell(size, ORANGE)}{_cell(apart, BLUE)}{_cell(gradient, GREEN)}</tr>"
        for number, (size, apart, gradient) in enumerate(rows)
    )
    return f"<table>{head}{body}</table><p>Bars are logarithmic, from a millionth to a million.</p>"


def _cell(value: float, colour: str) -> str:
    length = 75 + 12.5 * math.log10(min(max(value, 1e-6), 1e6))
    return bar_cell(length, colour, f"{value:.1e}", width=230, height=10)
