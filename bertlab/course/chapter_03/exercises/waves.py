"""Sine waves for positions, and the matrix that shifts them."""

from typing import Any

import torch

from bertlab.course.exercise import Exercise


def sinusoids(count, width, base=10_000.0):
    positions = torch.arange(count)[:, None]  # (P, 1)
    angle = positions / base ** (torch.arange(0, width, 2) / width)  # (P, 1) / (H / 2,) -> (P, H / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)  # (P, H / 2, 2) -> (P, H)


def _own_angles(count, width, base):
    angles = torch.arange(count)[:, None] / base ** (torch.arange(width) / width)  # (P, H)
    return torch.where(torch.arange(width) % 2 == 0, angles.sin(), angles.cos())


EXPONENT = "base ** (torch.arange(0, width, 2) / width)"

check_sinusoids = Exercise(
    sinusoids,
    lambda: [(6, 8, 300.0), (9, 6, 40.0), (5, 4)],
    right="Right: waves from fast to slow, sine and cosine of each.",
    slips=[
        (
            "sine and cosine alternate, component by component; yours stand in two blocks.",
            "stack => cat",
            ".flatten(1) => ",
        ),
        (
            "sine belongs in the even components (0, 2, ...), cosine in the odd ones.",
            "[angle.sin(), angle.cos()] => [angle.cos(), angle.sin()]",
        ),
        (
            "positions count from 0: the first row is 0, 1, 0, 1, ...",
            "torch.arange(count)[ => (1 + torch.arange(count))[",
        ),
        (
            "the exponent is 2i / H with i = 0, 1, 2, ...: yours is half of that.",
            f"{EXPONENT} => base ** (torch.arange(width // 2) / width)",
        ),
        (
            "the exponent is 2i / H, where 2i is the even component itself: yours is twice that.",
            f"{EXPONENT} => base ** (2 * torch.arange(0, width, 2) / width)",
        ),
        ("a sine and its cosine share one angle: component 2i + 1, too, has the exponent 2i / H.", _own_angles),
        ("use the base that is given.", "/ base => / 10_000.0"),
        ("the angle is the position divided by base^(2i / H): yours is multiplied.", "/ base => * base"),
        ("the table has a row for each position, (count, width): yours is transposed.", ".flatten(1) => .flatten(1).T"),
    ],
)


def shift_matrix(shift, width, base=10_000.0):
    angle = shift / base ** (torch.arange(0, width, 2) / width)  # (H / 2,): by how much each hand turns
    rows = [torch.stack([angle.cos(), angle.sin()], dim=-1), torch.stack([-angle.sin(), angle.cos()], dim=-1)]
    return torch.block_diag(*torch.stack(rows, dim=1))  # (H / 2, 2, 2) -> (H, H)


def _moved(fn, shift: int, width: int, base: float) -> dict[str, Any]:
    matrix = fn(shift, width, base)
    waves = sinusoids(12, width, base)
    return {"the matrix": tuple(matrix.shape), f"M @ sinusoids[p] for shift={shift}": waves @ matrix.float().T}


def _in_blocks(shift, width, base):
    order = [*range(0, width, 2), *range(1, width, 2)]
    return shift_matrix(shift, width, base)[order][:, order]


check_shift_matrix = Exercise(
    shift_matrix,
    lambda: [(1, 6, 100.0), (5, 8, 10_000.0), (-3, 4, 50.0)],
    right="Right: a step to the side is one rotation, the same from everywhere.",
    observe=_moved,
    slips=[
        ("your matrix leaves every vector where it is: it has to depend on the shift.", "shift / base => 0 / base"),
        (
            "this is the transpose: M @ p, with p a column, goes back instead of forward. Mind the sign of the sines.",
            "shift / base => -shift / base",
        ),
        ("angles are in radians.", "shift / base => shift * torch.pi / 180 / base"),
        ("your matrix is for waves in two blocks; here sine and cosine alternate, component by component.", _in_blocks),
        (
            "only the first wave is right: every wave turns by an angle of its own, shift / base^(2i / H).",
            "torch.arange(0, width, 2) => 0 * torch.arange(0, width, 2)",
        ),
    ],
)
