"""Checkers of chapter 17, what is counted: operations, the roofline, bfloat16."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bertlab.config import BertConfig
from bertlab.course.checks.base import checker, expect, random_tensor, run
from bertlab.training.engine.throughput import operations_by_part

Numbers = list[tuple[float, str]]


def _not_one_of(result: float, known: Numbers) -> None:
    for wrong, message in known:
        expect(abs(result - wrong) > 1e-6 * abs(wrong), message)


def _number(result: Any) -> float:
    expect(isinstance(result, int | float), "return a number.")
    return float(result)


@checker
def check_step_operations(fn: Callable[..., float]) -> None:
    """Check fn(layers, hidden, vocabulary, lengths, labels) -> the operations of a training step, with feed-forward
    layers four times as wide as the hidden size."""
    for sizes in ((2, 16, 50, [9, 4, 7], 3), (3, 32, 40, [5, 5], 2)):
        layers, hidden, words, lengths, labels = sizes
        config = BertConfig(words, hidden, layers, 2, 4 * hidden)
        tokens, pairs = sum(lengths), sum(n * n for n in lengths)

        def of(tokens=tokens, pairs=pairs, labels=labels, config=config) -> float:
            return sum(operations_by_part(config, tokens, pairs, labels).values())

        given, right = _number(run(fn, layers, hidden, words, list(lengths), labels)), of()
        known = [
            (right / 3, "that is the forward pass alone: backward takes two products for each one of it."),
            (right / 2, "a product of matrices multiplies *and* adds: two operations for each pair of numbers."),
            (of(pairs=0), "attention is missing: scores and context, for each pair of tokens of one text."),
            (of(labels=0), "the masked-word head is missing: a layer of H x H, and the decoder, H x V."),
            (of(labels=tokens), "the decoder need not run at every token: its loss asks for the masked ones alone."),
            (of(pairs=tokens**2), "attention stays inside a text: sum the squares of the lengths."),
            (of(pairs=tokens), "each token of a text meets all n tokens of it: n squared, not n."),
            (2 * right / 3, "backward takes two products for each one of the forward pass: 2 + 4 = 6, not 4."),
            (of(pairs=pairs / 3), "that is attention in the forward pass alone, 4 n² H: with backward it is 12 n² H."),
            (of(pairs=pairs * 6), "12 n² H has the backward pass in it already: the 6 belongs to the weights alone."),
            (of(pairs=pairs / layers), "every layer has attention: 12 n² H for each of them."),
            (right - 6 * hidden**2 * labels, "before the decoder the head has a layer of H x H for each masked token."),
            (of(len(lengths) * max(lengths), len(lengths) * max(lengths) ** 2), "padding needs no operations: take the "
             "length of each text, not of the longest."),
            (right - 36 * layers * hidden**2 * tokens, "a layer has 12 H² weights: 4 H² in attention, and two matrices "
             "of H x 4H."),
        ]  # fmt: skip
        _not_one_of(given, [(wrong, message) for wrong, message in known if abs(wrong - right) > 1e-6 * right])
        expect(abs(given - right) < 1e-6 * right, f"for {sizes} the step takes {right:,.0f}, you have {given:,.0f}.")
    print("Right: 6 for each weight and token, and the pairs of attention.")


@checker
def check_attainable(fn: Callable[[float, float, float, float], float]) -> None:
    """Check fn(operations, moved, peak, bandwidth) -> the highest rate that the roofline allows."""
    for operations, moved, peak, bandwidth in ((100.0, 50.0, 30.0, 10.0), (800.0, 10.0, 30.0, 10.0)):
        given = _number(run(fn, operations, moved, peak, bandwidth))
        slope, right = operations / moved * bandwidth, min(peak, operations / moved * bandwidth)
        known = [
            (max(peak, slope), "both limits hold at once, the peak and intensity x bandwidth: the lower of the two."),
            (moved / operations * bandwidth, "the intensity is operations over bytes, not bytes over operations."),
            (min(peak, operations / moved), "intensity is in operations for each byte: times bytes for each second."),
            (right / peak, "return a rate, not a share of the peak."),
            (min(peak, bandwidth), "bandwidth is in bytes for each second: times the operations for each byte."),
            (1 / (1 / peak + 1 / slope), "the two times are added: computing and moving go on at once, so take the "
             "slower of the two."),
        ]  # fmt: skip
        _not_one_of(given, [(wrong, message) for wrong, message in known if abs(wrong - right) > 1e-6])
        expect(abs(given - right) < 1e-6 * right, f"the roof is at {right:g}, you have {given:g}.")
    print("Right: a slope of bandwidth, then a flat roof at the peak.")


@checker
def check_round_to_bfloat16(fn: Callable[[Tensor], Tensor]) -> None:
    """Check fn(x (N,) float32) -> the nearest bfloat16, as float32; ties go to the even one."""
    ties = torch.tensor([1 + 2.0**-8, 1 + 3 * 2.0**-8, -(1 + 2.0**-8)])  # in the middle between two
    x = torch.cat([random_tensor(200), 1e-30 * random_tensor(20), torch.tensor([0.0, 1.0, 3.4e38]), ties])
    given = x.clone()
    result = run(fn, given)
    expect(isinstance(result, Tensor) and result.shape == x.shape, "return a tensor of the same shape.")
    expect(torch.equal(given, x), "your function changed the tensor it was given: work on a copy.")
    expect(result.dtype == torch.float32, "return float32 numbers, of which bfloat16 would lose nothing.")
    bits = x.view(torch.int32)
    up = ((bits + 0x8000) & -0x10000).view(torch.float32)
    none = torch.equal(result, x)
    expect(not none, "nothing was rounded: the lower 16 bits have to go.")
    cut = (bits & -0x10000).view(torch.float32)
    expect(not torch.equal(result, cut), "that cuts off: rounding goes to the nearest, up if the rest is above half.")
    expect(not torch.equal(result, up), "exactly in the middle between two, take the even one: its last bit is 0.")
    down = ((bits + 0x7FFF) & -0x10000).view(torch.float32)
    expect(
        not torch.equal(result, down), "exactly in the middle you always go down: add 1 where the upper part is odd."
    )
    expect(not torch.equal(result, x.half().float()), "that is float16: 5 bits of exponent and 10 behind the point.")
    expect(torch.equal(result, x.bfloat16().float()), "some numbers are not the nearest bfloat16.")
    print("Right: the nearest of the numbers that 8 bits of precision can write.")
