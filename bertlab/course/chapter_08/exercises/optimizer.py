"""The learning rate over time, a step of AdamW, and the optimizer."""

from copy import deepcopy
from typing import Any

import torch
from torch import nn

from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, filled, random_tensor, value
from bertlab.course.solutions import training

WARMUP, DECAY = "progress / warmup if progress < warmup", "(1 - progress) / (1 - warmup)"

check_rate_factor = Exercise(
    training.rate_share,
    lambda: [([(step / 20, warmup) for warmup in (0.25, 0.0, 0.6) for step in range(21)],)],
    right="Right: up in a straight line, and down to 0 in another.",
    observe=lambda fn, points: {f"the factor at progress={p} with warmup={w}": fn(p, w) for p, w in points},
    kept=("rate_share",),
    slips=[
        ("there is no warm-up: the rate has to begin at 0 and rise.", f"{WARMUP} else {DECAY} => 1 - progress"),
        (
            "at the end of the warm-up the factor is 1, and falls to 0 from there in a straight line.",
            f"{DECAY} => 1 - progress",
        ),
        ("the rate begins at 0.", f"{WARMUP} => 0.1 + 0.9 * progress / warmup if progress < warmup"),
        ("at the end of the training the rate is 0.", f"{DECAY} => 1.0"),
        (
            "the rate goes up above the top one: the factor is at most 1.",
            f"{WARMUP} else {DECAY} => 2 * (progress / warmup if progress < warmup else {DECAY})",
        ),
        (
            "up and down are straight lines; yours bend.",
            f"{WARMUP} else {DECAY} => (progress / warmup if progress < warmup else {DECAY}) ** 2",
        ),
        (
            "up and down are straight lines; yours is the cosine that came later.",
            f"{DECAY} => (1 + math.cos(math.pi * (progress - warmup) / (1 - warmup))) / 2",
            "def rate_share(progress, warmup): => def rate_share(progress, warmup):\n    import math",
        ),
        (
            "without warm-up (warmup=0) the training begins with the whole rate: mind the division by 0.",
            "progress < warmup => progress <= warmup",
        ),
        (
            "without warm-up (warmup=0) the training begins with the whole rate: mind the division by 0.",
            "return progress => return 0.0 if not progress else progress",
        ),
    ],
)


RATE, OPTIONS = 0.1, ((0.8, 0.95), 0.01, 0.2)  # of the first step; betas, eps, decay


def _three_steps(fn) -> dict[str, Any]:
    state = (random_tensor(3, 4), torch.zeros(3, 4), torch.zeros(3, 4))
    found: dict[str, Any] = {}
    for step in (1, 2, 3):
        grad = 0.1 * random_tensor(3, 4, seed=step)
        weight, m, v = (part.clone() for part in state)
        seen = value(fn, weight, grad, m, v, step, RATE / step, *OPTIONS)
        result = seen["result"]
        expect(
            isinstance(result, tuple | list) and len(result) == 3, "return weight, m, v, in this order, each a tensor."
        )
        state = result[0], result[1], result[2]
        found |= {
            f"{name} after step {step}": part
            for name, part in zip(("m", "v", "weight"), (*state[1:], state[0]), strict=True)
        }
        found[f"changed in step {step}"] = seen["changed"]
    return found


KEPT, ROOT = "kept = (1 - rate * decay) * weight", "scale = (v / (1 - betas[1] ** step)).sqrt() + eps"
FIRST = "m is not the running mean of the gradients, beta1 m + (1 - beta1) grad."
SECOND = "v is not the running mean of the squares, beta2 v + (1 - beta2) grad²."

check_adamw_step = Exercise(
    training.adamw_step,
    lambda: [()],
    right="Right: three steps of yours are three steps of AdamW.",
    observe=_three_steps,
    kept=("adamw_step",),
    slips=[
        ("the weight moved up the gradient, not down: subtract.", "value=-rate => value=rate"),
        (
            "m and v begin at 0 and are too small at first: divide by 1 - beta1^step and 1 - beta2^step.",
            "(v / (1 - betas[1] ** step)) => v",
            "-rate / (1 - betas[0] ** step) => -rate",
        ),
        (
            "m begins at 0 and is too small at first: divide it by 1 - beta1^step.",
            "-rate / (1 - betas[0] ** step) => -rate",
        ),
        ("v begins at 0 and is too small at first: divide it by 1 - beta2^step.", "(v / (1 - betas[1] ** step)) => v"),
        (
            "return m and v as they run on, undivided: the correction is for this step's weight alone.",
            "value=-rate / (1 - betas[0] ** step)), m, v => value=-rate / (1 - betas[0] ** step)), m / (1 - betas[0] "
            "** step), v / (1 - betas[1] ** step)",
        ),
        (
            "this is Adam with L2: the decay is added to the gradient. AdamW takes it from the weight itself.",
            "m = m.lerp => grad = grad + decay * weight; m = m.lerp",
            f"{KEPT} => kept = weight",
        ),
        ("the weight decay is missing: rate · decay · weight is taken from the weight.", f"{KEPT} => kept = weight"),
        ("the weight decay is not multiplied by the learning rate.", "rate * decay => decay"),
        ("divide by the square root of v, not by v.", f"{ROOT} => scale = v / (1 - betas[1] ** step) + eps"),
        ("eps stands outside the root: sqrt(v) + eps.", f"{ROOT} => scale = (v / (1 - betas[1] ** step) + eps).sqrt()"),
        (
            "eps comes last, behind the correction: the root of v / (1 - beta2^step), then + eps.",
            f"{ROOT} => scale = (v.sqrt() + eps) / (1 - betas[1] ** step) ** 0.5",
        ),
        ("this step divides by nothing: m must be divided by the root of v.", f"{ROOT} => scale = torch.ones_like(v)"),
        (FIRST, "m.lerp(grad, 1 - betas[0]) => m.lerp(grad, betas[0])"),
        (FIRST, "m.lerp(grad, 1 - betas[0]) => betas[0] * m + grad"),
        (FIRST, "** step)), m, v => ** step)), 0 * m, v"),
        (SECOND, "grad**2 => grad.abs()"),
        (SECOND, "v.lerp(grad**2, 1 - betas[1]) => v.lerp(grad**2, 1 - betas[0])"),
    ],
)


def _stepped(cls: type) -> dict[str, Any]:
    first, idle, last = nn.Linear(4, 3), nn.Linear(3, 2), nn.LayerNorm(2)  # idle gets no gradient
    model = filled(nn.Sequential(first, idle, last))
    optimizer = cls(model, (0.8, 0.95), 1e-6, 0.2)
    found: dict[str, Any] = {}
    for step in (1, 2, 3):
        for number, parameter in enumerate([*first.parameters(), *last.parameters()]):
            parameter.grad = random_tensor(*parameter.shape, seed=10 * step + number)
        optimizer.step(0.1 / step)
        found |= {f"{name} after step {step}": weight.detach().clone() for name, weight in model.named_parameters()}
        found[f"gradients after step {step}"] = [deepcopy(weight.grad) for weight in model.parameters()]
    optimizer.zero_grad()
    gone = all(weight.grad is None or not weight.grad.any() for weight in model.parameters())
    return found | {"zero_grad() clears every gradient": gone}


check_adamw = Exercise(
    training.AdamW,
    lambda: [()],
    right="Right: three steps for all the weights of a model are three steps of torch's AdamW.",
    observe=_stepped,
    kept=("AdamW",),
    slips=[
        ("no weight has moved: step(rate) moves them.", "weight.copy_(new) => pass"),
        (
            "model.parameters() can be gone through once: keep a list of them.",
            "[p for p in model.parameters() if p.requires_grad] => model.parameters()",
            ", strict=True => ",
        ),
        (
            "weight decay is for matrices alone: biases and LayerNorm, with ndim 1, are spared.",
            " if weight.ndim > 1 else 0.0 => ",
        ),
        ("weight decay is missing: matrices shrink by rate · decay.", "self.decay if weight.ndim > 1 else 0.0 => 0.0"),
        ("m and v are forgotten from step to step: keep them in self.state.", "self.state[number] = (m, v) => pass"),
        ("count the steps: the correction depends on how many there were.", "self.steps += 1 => self.steps = 1"),
        (
            "step() leaves the gradients as they are: clearing them is the work of zero_grad().",
            "self.state[number] = (m, v) => self.state[number] = (m, v); weight.grad = None",
        ),
        (
            "step() leaves the gradients as they are: work on a copy.",
            "            decay = self => \n            weight.grad.mul_(2)\n            decay = self",
        ),
        (
            "one weight without a gradient does not end the step: go on with the next.",
            "                continue =>                 break",
        ),
        ("zero_grad() leaves gradients behind.", "weight.grad = None => pass"),
        (
            "a weight without a gradient stays as it is: it has none of this step.",
            "                continue => \n                weight.grad = torch.zeros_like(weight)",
        ),
        ("step(rate) uses the rate that it is given.", "self.steps, rate, self.betas => self.steps, 0.1, self.betas"),
    ],
    spared={"detached": "a step of an optimizer is not learned through"},
)
