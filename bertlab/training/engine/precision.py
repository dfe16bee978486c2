"""Choose the number format of matrix products: float32, or bfloat16 where a measurement shows that it is faster."""

import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import torch
import torch.nn.functional as F

from bertlab.errors import InputError

Precision = Literal["auto", "float32", "bfloat16"]
# Products must be so many times as fast in bfloat16, for conversions make the rest of a step slower.
# Pretraining steps, on two cores of an Intel Xeon with AMX, batches of 2 to 32 (storyworld-live, english-mini):
# products 2.1 2.2 2.7 2.9 3.3 4.0 times as fast, steps 0.95 0.96 1.04 1.06 1.11 1.40 times.
MARGIN = 2.5
LARGE_MARGIN = 1.5  # large products are most of a step: base, batches of 8, products 2.7 times as fast, steps 1.9
ROUNDS = 6
LEAST, LARGE = 1e8, 2e9  # operations of one product: below LEAST, the work around it takes longer


@dataclass(frozen=True)
class Choice:
    """The format of the products, "float32" or "bfloat16", and why."""

    format: str
    reason: str

    def __str__(self) -> str:
        return f"{self.format} ({self.reason})"


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
    if ratio >= (MARGIN if products.operations < LARGE else LARGE_MARGIN):
        return Choice("bfloat16", f"measured {ratio:.1f} times as fast as float32")
    return Choice("float32", f"bfloat16 measured {ratio:.1f} times as fast")


@cache
def speedup(products: Products) -> float:
    """Measure how many times as fast the products are in bfloat16 as in float32, once a process.

    They are computed as in training, with the conversions between the formats. Both formats take turns, and the best
    round of each counts, for other work on the machine can only slow a round down. If the ratio is within some
    hundredths of the margin, two runs may still choose differently: fix the `precision` where that matters.
    """
    tokens = max(1, int(products.tokens * min(1.0, LARGE / products.operations)))
    few = _ratio(replace(products, tokens=max(1, tokens // 16)), 3)
    if few < 0.3:  # the processor emulates bfloat16: more products would take seconds
        return few
    return _ratio(replace(products, tokens=tokens), ROUNDS)


@torch.inference_mode()
def _ratio(products: Products, rounds: int) -> float:
    """Return seconds in float32 / seconds in bfloat16, the best of so many rounds after one to warm up."""
    shapes = (products.tokens, products.hidden), (products.intermediate, products.hidden)
    x, up = (torch.full(shape, 0.01) for shape in shapes)
    down = up.T.contiguous()
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(rounds + 1):
        for bfloat16, taken in times.items():
            start = time.perf_counter()
            with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                F.linear(F.linear(x, up), down)  # (N, H) -> (N, I) -> (N, H)
            taken.append(time.perf_counter() - start)
    return min(times[False][1:]) / min(times[True][1:])
