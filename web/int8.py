"""Weights in 8 bits: matrices of whole numbers, each group of 64 with a scale of its own.

live/js/safetensors.js reads them; web/weights.py measures how much the answers change.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

GROUP, LARGEST = 64, 127
SMALLEST = 2**-24  # of float16: a group of zeros has a scale too
SCALE = ".scale"  # NAME.scale (G,) float16, beside NAME (rows, columns) int8


def quantized(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors with their matrices in 8 bits; the others stay as they are."""
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and tensor.numel() % GROUP == 0:
            groups = tensor.float().view(-1, GROUP)  # (G, 64)
            scale = (groups.abs().amax(1) / LARGEST).half().clamp(min=SMALLEST)  # (G,)
            numbers = (groups / scale.float()[:, None]).round().clamp(-LARGEST, LARGEST)
            found |= {name: numbers.to(torch.int8).view_as(tensor), name + SCALE: scale}
        else:
            found[name] = tensor
    return found


def dequantized(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors as the live page computes with them: float32."""
    return {name: full(tensors, name) for name in tensors if not name.endswith(SCALE)}


def full(tensors: Mapping[str, Tensor], name: str) -> Tensor:
    if name + SCALE not in tensors:
        return tensors[name].float()
    groups = tensors[name].float().view(-1, GROUP) * tensors[name + SCALE].float()[:, None]
    return groups.view_as(tensors[name])
