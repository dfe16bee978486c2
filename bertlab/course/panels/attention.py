"""A panel of one token that asks: what each token gets from it, and how that changes with the scale."""

from html import escape

import torch
from torch import Tensor

from bertlab.course.panels.base import Panel, bar_cell, heading, line, panel, slider
from bertlab.draw.palette import BLUE, GREY
from bertlab.explain.ablation import random_control
from bertlab.explain.attention.maps import AttentionMaps, attention_maps
from bertlab.model.base import PretrainedModel
from bertlab.tokenizer import Tokenizer


def query_panel(
    model: PretrainedModel, tokenizer: Tokenizer, text: str, layer: int = 0, head: int = 0, position: int = 1
) -> Panel:
    """One head (counted from 0) as seen by one token, trained and random; `sharpness` multiplies the scores."""
    config, control = model.config, random_control(model)

    def show(text: str, layer: int, head: int, position: int, sharpness: float) -> str:
        trained, random = (attention_maps(each, tokenizer, text) for each in (model, control))
        return query_html(trained, random, layer - 1, head - 1, position, sharpness)

    return panel(
        show,
        text=line("text", text),
        layer=slider("layer", layer + 1, 1, config.num_hidden_layers),
        head=slider("head", head + 1, 1, config.num_attention_heads),
        position=slider("token", position, 0, 40),
        sharpness=slider("sharpness", 1.0, 0, 8, step=0.25),
    )


def query_html(
    maps: AttentionMaps, control: AttentionMaps, layer: int, head: int, position: int, sharpness: float
) -> str:
    """A table: each token, its weight in the head and in the same head with random weights."""
    position = min(position, len(maps.tokens) - 1)
    rows = [sharpened(m.weights[layer, head, position], sharpness).tolist() for m in (maps, control)]
    body = "".join(
        f"<tr><td><bdi>{escape(token)}</bdi></td>{_cell(trained, BLUE)}{_cell(random, GREY)}</tr>"
        for token, trained, random in zip(maps.tokens, *rows, strict=True)
    )
    asks = f"<p>layer {layer + 1}, head {head + 1}: <b><bdi>{escape(maps.tokens[position])}</bdi></b> asks</p>"
    return f"{asks}<table>{heading('', 'trained', 'random weights')}{body}</table>"


def sharpened(weights: Tensor, sharpness: float) -> Tensor:
    """The weights (..., S) of a softmax had its scores been multiplied by `sharpness`: 0 makes them all alike."""
    return (sharpness * weights.clamp(min=torch.finfo(weights.dtype).tiny).log()).softmax(-1)


def _cell(weight: float, colour: str) -> str:
    return bar_cell(150 * weight, colour, f"{weight:.2f}", width=210)
