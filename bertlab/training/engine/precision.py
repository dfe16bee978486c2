"""Choose the number format of matrix products: float32, or bfloat16 where a layer is measured to learn faster in it."""

import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import torch

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.model import BertModel

Precision = Literal["auto", "float32", "bfloat16"]
# A layer must learn so many times as fast in bfloat16. Not less, as what a step does besides its layers gains little:
# benchmarks/speed/step.py times whole steps in both formats and marks the one that is chosen.
MARGIN = 1.1
ROUNDS, SECONDS = 3, 0.4  # at least, of either format
ROW = 64  # tokens of a row that is measured
LEAST, LARGE = 3e7, 5e8  # operations of one product: below LEAST, the work around it takes longer


@dataclass(frozen=True)
class Choice:
    """The format of the products, "float32" or "bfloat16", and why."""

    format: str
    reason: str


@dataclass(frozen=True)
class Products:
    """The largest products of a step: of `tokens` vectors with the matrices of a feed-forward block."""

    tokens: int
    hidden: int
    intermediate: int

    @property
    def operations(self) -> float:
        """Floating-point operations of one product."""
        return 2.0 * self.tokens * self.hidden * self.intermediate


TYPICAL = Products(4096, 128, 512)  # of the recipes of this course


def choose(asked: Precision, device: str, products: Products) -> Choice:
    """Choose the format for products on `device` ("cpu", "cuda" or "mps"). InputError for anything but a Precision."""
    if asked in ("float32", "bfloat16"):
        return Choice(asked, "as asked")
    if asked != "auto":
        raise InputError(f"precision={asked!r}: choose auto, float32 or bfloat16")
    if device == "cpu":
        return _measured(products)
    if device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return Choice("bfloat16", "this GPU computes in it")
    return Choice("float32", f"the default on {device} without bfloat16 of its own")


def _measured(products: Products) -> Choice:
    if products.operations < LEAST:
        return Choice("float32", "products too small to gain by bfloat16")
    ratio = speedup(products)
    if ratio >= MARGIN:
        return Choice("bfloat16", f"measured {ratio:.1f} times as fast as float32")
    return Choice("float32", f"bfloat16 measured {ratio:.1f} times as fast")


@cache
def speedup(products: Products) -> float:
    """Measure how many times as fast a layer with such products learns in bfloat16 as in float32, once a process.

    It goes forward and back as in training, conversions between the formats included. Both formats take turns, and the
    best round of each counts, for other work on the machine can only slow a round down; where rounds are short there
    are more of them. If the ratio is within some hundredths of the margin, or other work never leaves the processors,
    two runs may still choose differently: fix the `precision` where that matters.
    """
    tokens = max(1, int(products.tokens * min(1.0, LARGE / products.operations)))
    few = _ratio(replace(products, tokens=max(1, tokens // 16)), 2, 0)
    if few < 0.3:  # the processor emulates bfloat16: more products would take seconds
        return few
    return _ratio(replace(products, tokens=tokens), ROUNDS, SECONDS)


def _ratio(products: Products, rounds: int, seconds: float) -> float:
    """Return seconds in float32 / seconds in bfloat16, the best of the rounds after one to warm up: at least so many,
    in at least so many seconds."""
    times: dict[bool, list[float]] = {False: [], True: []}
    until = time.perf_counter() + seconds
    with torch.random.fork_rng(devices=[]), torch.inference_mode(False), torch.enable_grad():
        model, input_ids = _layer(products)
        while len(times[True]) <= rounds or time.perf_counter() < until:
            for bfloat16, taken in times.items():
                start = time.perf_counter()
                with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                    hidden = model(input_ids).last_hidden_state  # (B, S, H)
                hidden.square().sum().backward()
                model.zero_grad()
                taken.append(time.perf_counter() - start)
    return min(times[False][1:]) / min(times[True][1:])


def _layer(products: Products) -> tuple[BertModel, torch.Tensor]:
    """A BERT of one layer in training mode, and rows of tokens for it (B, S)."""
    heads = products.hidden // 64 if products.hidden % 64 == 0 else 1
    length = min(ROW, products.tokens)
    config = BertConfig(
        vocab_size=ROW,
        hidden_size=products.hidden,
        num_hidden_layers=1,
        num_attention_heads=heads,
        intermediate_size=products.intermediate,
        max_position_embeddings=ROW,
    )
    return BertModel(config).train(), torch.ones(products.tokens // length, length, dtype=torch.long)
