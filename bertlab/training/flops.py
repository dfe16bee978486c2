"""How much of what a device can do a training makes use of: operations needed / operations possible.

What a step needs is counted by a formula, so that the figure falls when work is wasted, on padding say. What the device
could do is the rate of one large matrix product on it. The quotient is what is called model FLOPs utilization
(Chowdhery et al. 2022, "PaLM", appendix B).
"""

import time

import torch

from bertlab.config import BertConfig
from bertlab.inputs.masking import IGNORED
from bertlab.training.parts import Batch

SIDES = {"cuda": 8192, "mps": 4096}  # of the matrices, for some tens of milliseconds


def encoder_operations(config: BertConfig, batch: Batch) -> float:
    """Floating-point operations of a step in the encoder, forward and backward: 6 per weight of the layers and token,
    12 x layers x hidden size x tokens of the text per token for attention. Padding counts nothing.
    """
    layers, width = config.num_hidden_layers, config.hidden_size
    lengths = batch["attention_mask"].flatten(0, -2).sum(1).double()  # (B, S) or (B, C, S) -> (B,) or (B*C,)
    weights = layers * (4 * width**2 + 2 * width * config.intermediate_size)
    return float(6 * weights * lengths.sum() + 12 * layers * width * (lengths**2).sum())


def pretraining_operations(config: BertConfig, batch: Batch) -> float:
    """Those of the encoder, and 6 per weight of the masked-word head and masked token. The pooler and the head of next
    sentences, one product per text, are left out.
    """
    head = config.hidden_size**2 + config.hidden_size * config.vocab_size
    return encoder_operations(config, batch) + 6.0 * head * int((batch["labels"] != IGNORED).sum())


def product_rate(device: torch.device, dtype: torch.dtype, rounds: int = 2) -> float:
    """Floating-point operations per second of one large matrix product, the best of so many rounds."""
    side = SIDES.get(device.type, 768)
    a = torch.ones(side, side, dtype=dtype, device=device)
    best = min(_seconds(a) for _ in range(rounds + 1))  # the first one warms up
    return 2 * side**3 / best


def _seconds(a: torch.Tensor) -> float:
    start = time.perf_counter()
    float((a @ a)[0, 0])  # waits until it is there
    return time.perf_counter() - start
