"""One canvas for all attention heads, in the explorer and in notebooks."""

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.draw.html.component import Component, rounded
from bertlab.explain.attention.heads import ROLES, head_roles
from bertlab.explain.attention.maps import AttentionMaps

CANVAS = Component("attention", ("attention_head.js", "attention_grid.js", "attention.js"))


@dataclass(frozen=True)
class ModelHeads:
    """The heads of one model on one text; `control` holds those of a random-weights model of the same shape."""

    name: str
    maps: AttentionMaps
    control: AttentionMaps | None = None


def pack(models: Sequence[ModelHeads], view: dict | None = None) -> bytes:
    """Header and weights as attention.js reads them: one byte a weight, 255 = 1.0.

    Several models, which may differ in shape and tokens, are drawn beside each other. `view` is what to show
    first, for example {"layer": 1, "head": 0, "role": "previous"}.
    """
    weights = b"".join(_as_bytes(maps.weights) for model in models for maps in _sets(model))
    header = {"roles": ROLES, "models": [_described(model) for model in models], "view": view or {}}
    coded = json.dumps(header | {"sum": zlib.crc32(weights)}, allow_nan=False).encode()
    return struct.pack("<I", len(coded)) + coded + weights


def _sets(model: ModelHeads) -> list[AttentionMaps]:
    return [maps for maps in (model.maps, model.control) if maps is not None]


def _described(model: ModelHeads) -> dict:
    layers, heads, _, _ = model.maps.weights.shape
    roles = [head_roles(maps) for maps in _sets(model)]
    sets = [{"scores": rounded(r.scores), "best": r.best.tolist()} for r in roles]
    shape = {"layers": layers, "heads": heads, "uniform": rounded(roles[0].uniform)}
    return {"name": model.name, "tokens": model.maps.tokens, "sets": sets} | shape


def _as_bytes(weights: Tensor) -> bytes:
    return (weights * 255).round().clamp(0, 255).to(torch.uint8).numpy().tobytes()


def attention_widget(
    maps: AttentionMaps,
    name: str = "trained",
    control: AttentionMaps | None = None,
    view: dict | None = None,
    beside: ModelHeads | None = None,
):
    """The heads as an anywidget for notebooks, with those of a second model `beside` them.

    Its `view` trait follows what the user chooses.
    """
    models = [ModelHeads(name, maps, control)] + ([beside] if beside else [])
    return CANVAS.widget(pack(models), view)
