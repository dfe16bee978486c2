"""Distillation, rotary positions, the gated feed-forward network."""

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course.exercise import Exercise
from bertlab.course.observe import call, filled, random_tensor


def soft_loss(student, teacher, temperature):
    log_p, log_q = (student / temperature).log_softmax(-1), (teacher / temperature).log_softmax(-1)
    return (log_q.exp() * (log_q - log_p)).sum(-1).mean() * temperature**2


def _logits() -> list[tuple]:
    return [
        (random_tensor(M, V) * 2, random_tensor(M, V, seed=1) * 2, T)
        for M, V, T in ((5, 7, 3.0), (2, 4, 0.5), (3, 6, 0.01))
    ]


DIVERGENCE = "(log_q.exp() * (log_q - log_p)).sum(-1).mean() * temperature**2"

check_soft_loss = Exercise(
    soft_loss,
    _logits,
    right="Right: the teacher's probabilities, flattened, and 0 for a perfect student.",
    slips=[
        (
            "the factor T**2 is missing: without it a high temperature makes the gradient small.",
            " * temperature**2 => ",
        ),
        ("the factor is T, and should be T**2.", "temperature**2 => temperature"),
        (
            "the sum over the words is a mean here: kl_div's reduction must be 'batchmean'.",
            ".sum(-1).mean() => .mean()",
        ),
        ("the mean over the positions is a sum here: divide by M.", ".sum(-1).mean() => .sum()"),
        (
            "the divergence is the wrong way round: the teacher's probabilities weigh the logarithms.",
            "log_q.exp() * (log_q - log_p) => log_p.exp() * (log_p - log_q)",
        ),
        ("the teacher's logits are divided by the temperature too.", "(teacher / temperature) => teacher"),
        ("the student's logits are divided by the temperature too.", "(student / temperature) => student"),
        (
            "the temperature is not used.",
            "(student / temperature) => student",
            "(teacher / temperature) => teacher",
            " * temperature**2 => ",
        ),
        (
            "this is the cross-entropy: subtract the teacher's entropy, so that a perfect student has 0.",
            "(log_q - log_p) => -log_p",
        ),
        (
            "the logits are divided by the temperature, before the softmax.",
            "(student / temperature).log_softmax(-1) => student.log_softmax(-1) / temperature",
            "(teacher / temperature).log_softmax(-1) => teacher.log_softmax(-1) / temperature",
        ),
        (
            "a small probability becomes 0, and its logarithm infinite: log_softmax takes both steps at once.",
            "(student / temperature).log_softmax(-1), (teacher / temperature).log_softmax(-1) => "
            "(student / temperature).softmax(-1).log(), (teacher / temperature).softmax(-1).log()",
        ),
        (
            "this teaches the teacher's first choice alone.",
            f"{DIVERGENCE} => F.cross_entropy(student, teacher.argmax(-1))",
        ),
        (
            "the student learns nothing: no gradient reaches its logits; no detach, item or no_grad.",
            "(student / temperature) => (student.detach() / temperature)",
        ),
    ],
    observe=lambda fn, student, teacher, temperature: _of_student(fn, student, teacher, temperature),
)


def _of_student(fn, student, teacher, temperature) -> dict:
    """The loss and the student's gradient; whether one reaches the teacher, which does not learn, is free."""
    given = teacher.clone()
    found = call(lambda student, temperature: fn(student, given, temperature), student, temperature)
    return found if torch.equal(given, teacher) else found | {"changed": ["teacher"]}


def rotate(x, positions):
    half = x.size(-1) // 2
    angles = positions[:, None] * 10000 ** -(torch.arange(half) / half)  # (S, 1) * (D/2,) -> (S, D/2)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], -1)


def _turned() -> list[tuple]:
    later = torch.tensor([7, 0, 3, 3, 12, 5])
    return [
        (random_tensor(2, 3, 6, 8), torch.arange(6)),
        (random_tensor(2, 3, 6, 4), later),
        (random_tensor(6, 6), later),
    ]


HALVES = "first, second = x[..., :half], x[..., half:]"
TURNED = "[first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()]"

check_rotate = Exercise(
    rotate,
    _turned,
    right="Right: pairs of numbers, turned by their position.",
    slips=[
        ("nothing is turned.", "positions[:, None] * => 0 * positions[:, None] *"),
        (
            "you turn the other way: first * cos - second * sin, second * cos + first * sin.",
            "positions[:, None] * => -positions[:, None] *",
        ),
        (
            "you pair neighbours (0 with 1): number d belongs to number D/2 + d.",
            f"{HALVES} => first, second = x[..., 0::2], x[..., 1::2]",
            f"torch.cat({TURNED}, -1) => torch.stack({TURNED}, -1).flatten(-2)",
        ),
        ("the sine is missing.", f"{TURNED} => [first * angles.cos(), second * angles.cos()]"),
        (
            "positions begin with 0: the first token is not turned.",
            "positions[:, None] * => (positions[:, None] + 1) *",
        ),
        (
            "turn by the numbers in `positions`, not by 0, 1, 2, ...",
            "positions[:, None] * => torch.arange(len(positions))[:, None] *",
        ),
        (
            "a rotation leaves lengths as they are, yours does not: is it cos and sin of the same angle, and one "
            "minus?",
            "- second * angles.sin() => + second * angles.sin()",
        ),
        (
            "the angle of pair d at position p is p * 10000 ** (-2d / D): the exponent is half of yours, or twice.",
            "(torch.arange(half) / half) => (torch.arange(half) / half / 2)",
        ),
        (
            "the angle of pair d at position p is p * 10000 ** (-2d / D): the exponent has a minus.",
            "10000 ** - => 10000 ** +",
        ),
        (
            "the second half uses the first one as it was, before the turn.",
            "second * angles.cos() + first * angles.sin() => "
            "second * angles.cos() + (first * angles.cos() - second * angles.sin()) * angles.sin()",
        ),
    ],
)


def gated(x, up, down):
    first, second = up(x).chunk(2, dim=-1)
    return down(F.gelu(first) * second)


def _layers() -> list[tuple]:
    return [
        (random_tensor(2, 3, H), filled(nn.Linear(H, 2 * wide)), filled(nn.Linear(wide, H)))
        for H, wide in ((4, 6), (3, 5))
    ]


def _gated(fn, x, up, down) -> dict:
    found = call(fn, x, up, down)
    parts = (("up", up), ("down", down))
    return found | {
        f"gradient of {name}.{kind}": each.grad for name, part in parts for kind, each in part.named_parameters()
    }


check_gated = Exercise(
    gated,
    _layers,
    right="Right: one half opens and closes the other.",
    observe=_gated,
    slips=[
        ("the halves are multiplied, not added.", "F.gelu(first) * second => F.gelu(first) + second"),
        (
            "GELU goes to the first half, the second is left as it is.",
            "F.gelu(first) * second => first * F.gelu(second)",
        ),
        ("GELU comes before the product.", "F.gelu(first) * second => F.gelu(first * second)"),
        ("only the first half goes through GELU.", "F.gelu(first) * second => F.gelu(first) * F.gelu(second)"),
        ("GELU is missing.", "F.gelu(first) => first"),
        ("this is the older gate with a sigmoid (GLU): take GELU.", "F.gelu(first) => first.sigmoid()"),
        ("the gate learns nothing: no detach on its half.", "F.gelu(first) => F.gelu(first).detach()"),
    ],
)
