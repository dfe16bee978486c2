"""Checkers of the training loop: the learning rate over time, AdamW, one step."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED
from bertlab.course.checks.base import checker, close, expect, none_of, random_tensor, run, tensors
from bertlab.course.solutions import pretraining
from bertlab.course.solutions.config import Config
from bertlab.training.engine.optim import rate_factor

RateFactor = Callable[[float, float], float]
AdamWStep = Callable[..., tuple[Tensor, Tensor, Tensor]]
TrainStep = Callable[[nn.Module, Any, dict[str, Tensor], float, float], float]


@checker
def check_rate_factor(fn: RateFactor) -> None:
    """Check fn(progress, warmup) -> the share of the top learning rate, up to 1 and down to 0 in straight lines."""
    expect(isinstance(fn(0.5, 0.1), int | float), "return a number.")
    points = [i / 20 for i in range(21)]
    rates = [fn(progress, 0.25) for progress in points]
    expect(rates != [1 - p for p in points], "there is no warm-up: the rate has to begin at 0 and rise.")
    expect(max(rates) <= 1 + 1e-6, f"the rate goes up to {max(rates):.2f} times the top one.")
    expect(abs(rates[5] - 1) < 1e-6, f"at the end of the warm-up the factor is 1, yours is {rates[5]:.2f}.")
    expect(abs(rates[0]) < 1e-6, f"the rate begins at 0, yours at {rates[0]:.2f} of the top rate.")
    expect(
        abs(rates[-1]) < 1e-6, f"at the end of the training the rate is 0, yours is {rates[-1]:.2f} of the top rate."
    )
    right = [rate_factor(progress, 0.25) for progress in points]
    expect(
        all(abs(a - b) < 1e-6 for a, b in zip(rates, right, strict=True)), "up and down are straight lines; yours bend."
    )
    try:
        first = fn(0.0, 0.0)
    except ZeroDivisionError:
        first = None
    expect(first == 1, "without warm-up (warmup=0) the training begins with the whole rate: mind the division by 0.")
    print("Right: up in a straight line, and down to 0 in another.")


@checker
def check_adamw_step(fn: AdamWStep) -> None:
    """Check fn(weight, grad, m, v, step, rate, betas, eps, decay) -> weight, m, v after the step; all of one shape."""
    options = {"rate": 0.1, "betas": (0.9, 0.98), "eps": 0.01, "decay": 0.2}
    state = (random_tensor(3, 4), torch.zeros(3, 4), torch.zeros(3, 4))
    others = {message: state for message, _ in ADAMW_SLIPS}
    for step in (1, 2, 3):
        grad = 0.1 * random_tensor(3, 4, seed=step)
        given = tuple(part.clone() for part in state)
        result = tensors(run(fn, given[0], grad, *given[1:], step, *options.values()), 3, "weight, m, v")
        others = {name: _adamw(*others[name], grad, step, options, slip) for name, slip in ADAMW_SLIPS}
        state = _adamw(*state, grad, step, options)
        none_of(result[0], [(other[0], message) for message, other in others.items() if not close(other[0], state[0])])
        expect(
            close(result[1], state[1]),
            "m is not the running mean of the gradients, beta1 m + (1 - beta1) grad, undivided.",
        )
        expect(
            close(result[2], state[2]),
            "v is not the running mean of their squares, beta2 v + (1 - beta2) grad², undivided.",
        )
        expect(close(result[0], state[0]), f"m and v are right, the weight is not (step {step}).")
    print("Right: three steps of yours are three steps of AdamW.")


ADAMW_SLIPS = [
    ("the weight moved up the gradient, not down: subtract.", "ascent"),
    ("m and v begin at 0 and are too small at first: divide by 1 - beta1^step and 1 - beta2^step.", "no correction"),
    ("this is Adam with L2: the decay is added to the gradient. AdamW takes it from the weight itself.", "l2"),
    ("the weight decay is missing: rate · decay · weight is taken from the weight.", "no decay"),
    ("the weight decay is not multiplied by the learning rate.", "decay without rate"),
    ("divide by the square root of v, not by v.", "no root"),
    ("eps stands outside the root: sqrt(v) + eps.", "eps inside"),
    ("this step divides by nothing: m must be divided by the root of v.", "momentum alone"),
]


def _adamw(weight: Tensor, m: Tensor, v: Tensor, grad: Tensor, step: int, options: dict, slip: str = ""):
    """A step of AdamW, or with a slip."""
    rate, (beta1, beta2), eps, decay = options.values()
    if slip == "l2":
        grad = grad + decay * weight
    m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad**2
    mean, square = (m, v) if slip == "no correction" else (m / (1 - beta1**step), v / (1 - beta2**step))
    below = {"no root": square + eps, "eps inside": (square + eps).sqrt(), "momentum alone": 1.0}
    move = rate * mean / below.get(slip, square.sqrt() + eps)
    shrink = {"l2": 0.0, "no decay": 0.0, "decay without rate": decay}.get(slip, rate * decay)
    return weight * (1 - shrink) + (move if slip == "ascent" else -move), m, v


@checker
def check_adamw(cls: type) -> None:
    """Check cls(model, betas, eps, decay) with step(rate) and zero_grad(): AdamW, with decay on matrices alone."""
    options: dict[str, Any] = {"betas": (0.9, 0.98), "eps": 1e-6, "decay": 0.2}
    mine, decayed, spared = _one_of_each(), _one_of_each(), _one_of_each()
    optimizer = run(cls, mine, *options.values())
    others = {model: _torch_adamw(model, options, all_decay) for model, all_decay in ((decayed, True), (spared, False))}
    for step in (1, 2, 3):
        for model in (mine, decayed, spared):
            _set_gradients(model, step)
        run(optimizer.step, 0.1 / step)
        for other in others.values():
            other.param_groups[0]["lr"] = other.param_groups[1]["lr"] = 0.1 / step
            other.step()
        expect(
            not torch.equal(all_weights(mine), all_weights(_one_of_each())),
            "no weight has moved: step(rate) moves them.",
        )
        expect(
            not close(all_weights(mine), all_weights(decayed)),
            "weight decay is for matrices alone: biases and LayerNorm, with ndim 1, are spared.",
        )
        expect(close(all_weights(mine), all_weights(spared)), f"after step {step} the weights are not those of AdamW.")
    expect(
        all(p.grad is not None for p in list(mine.parameters())[:2]),
        "step() leaves the gradients as they are: clearing them is the work of zero_grad().",
    )
    run(optimizer.zero_grad)
    gone = all(p.grad is None or not p.grad.any() for p in mine.parameters())
    expect(gone, "zero_grad() leaves gradients behind.")
    print("Right: three steps for all the weights of a model are three steps of torch's AdamW.")


def _one_of_each() -> nn.Module:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.Linear(3, 2))  # the last one gets no gradient


def _set_gradients(model: nn.Module, step: int) -> None:
    for number, parameter in enumerate(list(model.parameters())[:4]):
        parameter.grad = random_tensor(*parameter.shape, seed=10 * step + number)


def _torch_adamw(model: nn.Module, options: dict[str, Any], all_decay: bool) -> torch.optim.Optimizer:
    matrices, vectors = ([p for p in model.parameters() if (p.ndim > 1) == kind] for kind in (True, False))
    groups = [
        {"params": matrices, "weight_decay": options["decay"]},
        {"params": vectors, "weight_decay": options["decay"] if all_decay else 0.0},
    ]
    return torch.optim.AdamW(groups, betas=options["betas"], eps=options["eps"])


@checker
def check_train_step(fn: TrainStep) -> None:
    """Check fn(model, optimizer, batch, rate, clip) -> the loss (float), with the weights one step on. The model is one
    like the reader's, the optimizer has step(rate), zero_grad() and parameters."""
    model, losses = _two_steps(fn)
    expect(all(isinstance(loss, float) for loss in losses), "return the loss as a float: loss.item().")
    mine, start = all_weights(model), all_weights(small_model())
    expect(
        not torch.equal(mine, start),
        "the weights have not moved: backward(), then step(rate), and zero_grad() only after it.",
    )
    for message, slip in STEP_SLIPS:
        expect(not close(mine, all_weights(_two_steps(_slipped(slip))[0])), message)
    right, wanted = _two_steps(_slipped(""))
    expect(close(mine, all_weights(right)), "the weights moved, but not to where one step leads.")
    expect(
        all(abs(a - b) < 1e-4 for a, b in zip(losses, wanted, strict=True)),
        "the weights are right, the loss that you return is not: the sum of both, before the step.",
    )
    print("Right: forward, backward, clip, step, and the gradients cleared for the next one.")


STEP_SLIPS = [
    ("gradients of the first step are still there in the second: zero_grad() is missing.", "no zero_grad"),
    ("the rate of this step is `rate`: optimizer.step(rate).", "rate not used"),
    ("the gradient was not clipped, or only after step().", "no clip"),
    ("each number of the gradient was clipped; clip the norm of the whole: clip_grad_norm_.", "clipped by value"),
    ("the loss of the next sentences is not learned from.", "mlm alone"),
    ("the loss of the masked words is not learned from.", "nsp alone"),
    ("the loss is the mean of the two; BERT's is their sum.", "mean of both"),
]


class GradientDescent:
    """An optimizer with the methods of the reader's AdamW."""

    def __init__(self, model: nn.Module):
        self.parameters = list(model.parameters())

    @torch.no_grad()
    def step(self, rate: float = 0.01) -> None:
        for weight in self.parameters:
            if weight.grad is not None:
                weight.sub_(rate * weight.grad)

    def zero_grad(self) -> None:
        for weight in self.parameters:
            weight.grad = None


def small_model() -> nn.Module:
    sizes = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = Config(**sizes, intermediate_size=32, max_position_embeddings=8, initializer_range=0.3)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return pretraining.BertForPreTraining(config).eval()  # without dropout: the same result each time


def all_weights(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def _two_steps(fn: TrainStep) -> tuple[nn.Module, list[float]]:
    """The model after two steps of plain gradient descent, the first one clipped, and what `fn` returned."""
    ids = 5 + torch.arange(16).view(2, 8)
    labels = ids.masked_fill(ids % 3 > 0, IGNORED)
    batch = {"input_ids": ids.masked_fill(labels > 0, 4), "labels": labels, "next_sentence_label": torch.tensor([0, 1])}
    batch |= {"token_type_ids": torch.zeros_like(ids), "attention_mask": torch.ones_like(ids)}
    model = small_model()
    optimizer = GradientDescent(model)
    losses = []
    for rate, clip in ((0.5, 0.1), (0.25, 100.0)):
        given = dict(batch)
        losses.append(run(fn, model, optimizer, given, rate, clip))
        expect(given.keys() == batch.keys(), "your function changed the batch it was given: leave it as it is.")
    return model, losses


def _slipped(slip: str) -> TrainStep:
    """One step as it should be, or with a slip."""

    def step(model, optimizer, batch, rate, clip):
        words, pairs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        mlm = F.cross_entropy(words.flatten(0, 1), batch["labels"].flatten())
        nsp = F.cross_entropy(pairs, batch["next_sentence_label"])
        shares = {"mlm alone": (1, 0), "nsp alone": (0, 1), "mean of both": (0.5, 0.5)}.get(slip, (1, 1))
        (shares[0] * mlm + shares[1] * nsp).backward()
        if slip == "clipped by value":
            torch.nn.utils.clip_grad_value_(optimizer.parameters, clip)
        elif slip != "no clip":
            torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip)
        optimizer.step(0.01 if slip == "rate not used" else rate)
        if slip != "no zero_grad":
            optimizer.zero_grad()
        return (mlm + nsp).item()

    return step
