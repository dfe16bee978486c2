"""A panel of one gap: what the head reads after a layer, what one attention head sees, and what goes without it."""

from collections.abc import Sequence
from html import escape

import torch

from bertlab.course.panels.base import Panel, bar, line, panel, slider
from bertlab.course.panels.models import fills_html
from bertlab.draw.palette import BLUE, GREY
from bertlab.explain.attention.knockout import change_without, word_score
from bertlab.explain.words.fill import MaskedLM, fill_positions, masked_row
from bertlab.explain.words.lens import Lens, logit_lens
from bertlab.tokenizer import Tokenizer


def inside_panel(model: MaskedLM, tokenizer: Tokenizer, text: str, layer: int = 0, head: int = 0) -> Panel:
    """A text with [MASK]; sliders for a layer, one of its heads (from 0) and which gap, if there are several."""
    config = model.config

    def show(text: str, layer: int, head: int, gap: int) -> str:
        return inside_html(model, tokenizer, text, layer - 1, head - 1, gap - 1)

    return panel(
        show,
        text=line("text", text),
        layer=slider("layer", layer + 1, 1, config.num_hidden_layers),
        head=slider("head", head + 1, 1, config.num_attention_heads),
        gap=slider("gap", 1, 1, 5),
    )


def inside_html(model: MaskedLM, tokenizer: Tokenizer, text: str, layer: int, head: int, gap: int) -> str:
    """The lens on all layers with `layer` in a frame; the weights of the head from the gap; what goes without it."""
    batch, gaps = masked_row(model, tokenizer, text)
    position = gaps[min(gap, len(gaps) - 1)]
    lens = logit_lens(model, tokenizer, text, position=position, k=1)
    with torch.inference_mode():
        weights = model.bert(**batch, output_attentions=True).attentions[layer][0, head, position]
    off, tokens = [(layer, head)], tokenizer.convert_ids_to_tokens(batch["input_ids"][0])
    change = change_without(model, batch, word_score(position, tokenizer.id_of(lens.answer)), off)
    sees = (
        f"<p>layer {layer + 1}, head {head + 1}, from this gap; without this head ln p({escape(lens.answer)}) changes"
    )
    best = fills_html(fill_positions(model, tokenizer, batch, [position], 5))
    table = weights_html(tokens, weights.tolist(), position)
    return f"{lens_html(lens, layer + 1)}{sees} by {change:+.2f}</p>{table}{best}"


def lens_html(lens: Lens, chosen: int) -> str:
    """A column for each layer, 0 being the embeddings: its likeliest token and the probability of the last answer."""
    names = ["embeddings", *(f"layer {number}" for number in range(1, len(lens.layers)))]
    cells = []
    for number, (name, fill, share) in enumerate(zip(names, lens.layers, lens.probabilities, strict=True)):
        frame = f"2px solid {BLUE}" if number == chosen else "1px solid #CCCCCC"
        guess = f"<b><bdi>{escape(fill.tokens[0])}</bdi></b>"
        shown = f"<small>{name}</small><br>{guess}<br><small>{escape(lens.answer)} {share:.0%}</small>"
        cells.append(f'<div style="border:{frame};border-radius:5px;padding:3px 9px">{shown}</div>')
    return f'<div style="display:flex;flex-wrap:wrap;gap:6px">{"".join(cells)}</div>'


def weights_html(tokens: Sequence[str], weights: Sequence[float], position: int) -> str:
    """A row for each token: how much of its weight the head gives it; the gap itself in grey."""
    rows = "".join(
        f"<tr><td><bdi>{escape(token)}</bdi></td><td>{weight:.2f}</td>"
        f"<td>{bar(220 * weight, GREY if index == position else BLUE)}</td></tr>"
        for index, (token, weight) in enumerate(zip(tokens, weights, strict=True))
    )
    return f"<table>{rows}</table>"
