"""What is counted: operations, the roofline, bfloat16."""

import torch
from torch import Tensor

from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, random_tensor, value


def step_operations(layers, hidden, vocabulary, lengths, labels):
    weights = 12 * layers * hidden**2 * sum(lengths) + (hidden**2 + hidden * vocabulary) * labels
    return 6 * weights + 12 * layers * hidden * sum(n**2 for n in lengths)


BODY, HEAD = "12 * layers * hidden**2 * sum(lengths)", "(hidden**2 + hidden * vocabulary) * labels"
PAIRS = "12 * layers * hidden * sum(n**2 for n in lengths)"

check_step_operations = Exercise(
    step_operations,
    lambda: [(2, 16, 50, [9, 4, 7], 3), (3, 32, 40, [5, 5], 2)],
    right="Right: 6 for each weight and token, and the pairs of attention.",
    observe=lambda fn, *case: value(lambda *given: float(fn(*given)), *case),
    slips=[
        (
            "that is the forward pass alone: backward takes two products for each one of it.",
            f"6 * weights + {PAIRS} => 2 * weights + {PAIRS.replace('12', '4')}",
        ),
        (
            "a product of matrices multiplies *and* adds: two operations for each pair of numbers.",
            f"6 * weights + {PAIRS} => 3 * weights + {PAIRS.replace('12', '6')}",
        ),
        ("attention is missing: scores and context, for each pair of tokens of one text.", f" + {PAIRS} => "),
        ("the masked-word head is missing: a layer of H x H, and the decoder, H x V.", f" + {HEAD} => "),
        (
            "the decoder need not run at every token: its loss asks for the masked ones alone.",
            "vocabulary) * labels => vocabulary) * sum(lengths)",
        ),
        (
            "attention stays inside a text: sum the squares of the lengths.",
            "sum(n**2 for n in lengths) => sum(lengths) ** 2",
        ),
        ("each token of a text meets all n tokens of it: n squared, not n.", "n**2 for => n for"),
        (
            "backward takes two products for each one of the forward pass: 2 + 4 = 6, not 4.",
            f"6 * weights + {PAIRS} => 4 * weights + {PAIRS.replace('12', '8')}",
        ),
        (
            "that is attention in the forward pass alone, 4 n² H: with backward it is 12 n² H.",
            f"+ {PAIRS} => + {PAIRS.replace('12', '4')}",
        ),
        (
            "12 n² H has the backward pass in it already: the 6 belongs to the weights alone.",
            f"6 * weights + {PAIRS} => 6 * (weights + {PAIRS})",
        ),
        ("every layer has attention: 12 n² H for each of them.", "12 * layers * hidden * sum => 12 * hidden * sum"),
        (
            "before the decoder the head has a layer of H x H for each masked token.",
            "hidden**2 + hidden * vocabulary => hidden * vocabulary",
        ),
        (
            "padding needs no operations: take the length of each text, not of the longest.",
            "    weights = => \n    lengths = [max(lengths)] * len(lengths)\n    weights =",
        ),
        (
            "a layer has 12 H² weights: 4 H² in attention, and two matrices of H x 4H.",
            f"{BODY} => 6 * layers * hidden**2 * sum(lengths)",
        ),
    ],
)


def attainable(operations, moved, peak, bandwidth):
    return min(peak, operations / moved * bandwidth)


ROOF = "min(peak, operations / moved * bandwidth)"

check_attainable = Exercise(
    attainable,
    lambda: [(90.0, 40.0, 30.0, 10.0), (800.0, 10.0, 25.0, 10.0)],
    right="Right: a slope of bandwidth, then a flat roof at the peak.",
    observe=value,
    slips=[
        ("both limits hold at once, the peak and intensity x bandwidth: the lower of the two.", "min(peak => max(peak"),
        (
            "the intensity is operations over bytes, not bytes over operations.",
            "operations / moved => moved / operations",
        ),
        ("intensity is in operations for each byte: times bytes for each second.", " * bandwidth => "),
        ("return a rate, not a share of the peak.", f"{ROOF} => {ROOF} / peak"),
        (
            "bandwidth is in bytes for each second: times the operations for each byte.",
            "operations / moved * bandwidth => bandwidth",
        ),
        (
            "the two times are added: computing and moving go on at once, so take the slower of the two.",
            f"{ROOF} => 1 / (1 / peak + moved / operations / bandwidth)",
        ),
        (
            "the peak is the roof, whatever the bandwidth: no rate is above it.",
            f"{ROOF} => operations / moved * bandwidth",
        ),
    ],
)


def round_to_bfloat16(x):
    bits = x.view(torch.int32)
    odd = (bits >> 16) & 1
    return ((bits + 0x7FFF + odd) & -0x10000).view(torch.float32)


def _numbers() -> list[tuple]:
    ties = torch.tensor([1 + 2.0**-8, 1 + 3 * 2.0**-8, -(1 + 2.0**-8)])  # in the middle between two
    return [(torch.cat([random_tensor(200), 1e-30 * random_tensor(20), torch.tensor([0.0, 1.0, 3.4e38]), ties]),)]


def _bits(fn, x) -> dict:
    found = value(fn, x)
    result = found["result"]
    expect(isinstance(result, Tensor), "return a tensor (N,).")
    exact = result.view(torch.int32).tolist() if result.dtype == torch.float32 else str(result.dtype)
    return {"the result is float32": result.dtype == torch.float32, "bits": exact, "changed": found["changed"]}


SUM = "((bits + 0x7FFF + odd) & -0x10000).view(torch.float32)"

check_round_to_bfloat16 = Exercise(
    round_to_bfloat16,
    _numbers,
    right="Right: the nearest of the numbers that 8 bits of precision can write.",
    observe=_bits,
    slips=[
        ("return float32 numbers, of which bfloat16 would lose nothing.", f"{SUM} => x.bfloat16()"),
        ("nothing was rounded: the lower 16 bits have to go.", f"{SUM} => x.clone()"),
        ("that cuts off: rounding goes to the nearest, up if the rest is above half.", "bits + 0x7FFF + odd => bits"),
        (
            "exactly in the middle between two, take the even one: its last bit is 0.",
            "bits + 0x7FFF + odd => bits + 0x8000",
        ),
        (
            "exactly in the middle you always go down: add 1 where the upper part is odd.",
            "bits + 0x7FFF + odd => bits + 0x7FFF",
        ),
        ("that is float16: 5 bits of exponent and 10 behind the point.", f"{SUM} => x.half().float()"),
    ],
)
