"""The loop that fine-tunes every model of part two."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, filled, random_tensor, value
from bertlab.course.solutions import one_sentence

STEPS = 6


class _Toy(nn.Module):
    """Two modules with a loss; notes whether it was in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.bert, self.classifier, self.dropout = nn.Linear(4, 6), nn.Linear(6, 3), nn.Dropout(0.3)
        self.modes: list[bool] = []

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        self.modes.append(self.training)
        logits = self.classifier(self.dropout(self.bert(batch["x"]).tanh()))
        return F.cross_entropy(logits, batch["labels"]) * batch["scale"]


def _batches() -> Iterator[dict[str, Tensor]]:
    for number in range(STEPS + 2):
        scale = torch.tensor(0.1 if number % 2 else 5.0)  # not every gradient is clipped
        yield {"x": 3 * random_tensor(5, 4, seed=number), "labels": torch.arange(5) % 3, "scale": scale}
    expect(False, f"you took more batches than steps={STEPS}: stop after `steps`, as they may come without end.")


def _finetuned(fn, shares: tuple[float | None, float] | None) -> dict[str, Any]:
    model: Any = filled(_Toy()).eval()
    noted: list[tuple] = []
    weights: list[Tensor] = []

    def on_step(*given: Any) -> None:
        noted.append(given)
        weights.append(model.bert.weight.detach().clone())

    both = shares and zip((model.bert, model.classifier), shares, strict=True)
    modules = both and [(module, share) for module, share in both if share is not None]
    given = modules and list(modules)
    result = fn(model, _batches(), STEPS, 0.05, 0.4, 0.5, on_step, modules)
    expect(result is model, "return the model, in eval mode.")
    found: dict[str, Any] = {
        f"the number of batches learned from is {STEPS}": len(model.modes) == STEPS,
        "the model is in training mode in every step": all(model.modes),
        "the model is in eval mode at the end": not model.training,
    }
    found |= {name: weight.detach() for name, weight in model.named_parameters()}
    found["the weights that on_step meets"] = weights
    found["the list of shares stays as it is"] = modules == given
    found["the steps that on_step gets"] = [step for step, _ in noted]
    found["on_step gets the loss as a float"] = all(isinstance(loss, float) for _, loss in noted)
    few = [*islice(_batches(), 2)]  # a list will do, and the other arguments have defaults
    plain = filled(_Toy())
    found["changed"] = value(fn, plain, few, 2)["changed"]
    learned = plain.get_parameter("bert.weight").detach()
    found["bert.weight after two steps with rate, warmup and clip as they are by default"] = learned
    return found | {"the losses that on_step gets": [float(torch.as_tensor(loss).detach()) for _, loss in noted]}


CLIP = "torch.nn.utils.clip_grad_norm_(weights, clip)"
FACTOR = "rate_share((step + 0.5) / steps, warmup)"

check_finetune = Exercise(
    one_sentence.finetune,
    lambda: [(None,), ((0.25, 1.0),), ((None, 1.0),)],
    right="Right: every batch one step, the rate up and down, and each module with its share of it.",
    observe=_finetuned,
    kept=("finetune",),
    slips=[
        (
            "the rate is the same in every step: multiply it by rate_share((step + 0.5) / steps, warmup).",
            f"{FACTOR} => 1",
        ),
        (
            "the first step has no rate at all: progress is (step + 0.5) / steps, as in chapter 08.",
            "(step + 0.5) / steps => step / steps",
        ),
        (
            "the last step has no rate at all: progress is (step + 0.5) / steps, as in chapter 08.",
            "(step + 0.5) / steps => (step + 1) / steps",
        ),
        ("`warmup` is not used: it is the second argument of rate_share.", "/ steps, warmup) => / steps, 0.1)"),
        ("`rate` is not used: each step has share * rate * rate_share(...).", "share * rate * => share * 1e-3 *"),
        (
            "gradients of one step are still there in the next: zero_grad() is missing.",
            "            optimizer.zero_grad()\n => ",
        ),
        ("the gradient was not clipped: clip_grad_norm_ before the step.", f"        {CLIP}\n => "),
        (
            "each number of the gradient was clipped; clip the norm of the whole: clip_grad_norm_.",
            "clip_grad_norm_ => clip_grad_value_",
        ),
        (
            "each module's gradient was clipped by itself: clip once, the weights of all optimizers together.",
            f"{CLIP} => [torch.nn.utils.clip_grad_norm_(each.parameters, clip) for each, _ in optimizers]",
        ),
        (
            "clip the gradients of the modules in `shares` alone: those of the others are never cleared, and pile up.",
            "clip_grad_norm_(weights, clip) => clip_grad_norm_(model.parameters(), clip)",
        ),
        (
            "the shares are not used: each module has an AdamW of its own, which steps at share * rate.",
            "share * rate => rate",
        ),
        (
            "the shares are not used: each module has an AdamW of its own, which steps at share * rate.",
            "shares or [(model, 1.0)] => [(model, 1.0)]",
        ),
        ("the model was not in training mode: model.train(), or dropout never works.", "    model.train()\n => "),
        ("the model is still in training mode: end with model.eval().", "return model.eval() => return model"),
        ("no weight has moved: backward(), step(rate), then zero_grad().", "        loss.backward()\n => "),
        ("on_step gets the step, from 0, and the loss.", "on_step(step, => on_step(step + 1,"),
        ("on_step gets the loss as a float: loss.item().", "loss.item()) => loss)"),
        (
            "on_step is called once the weights have moved: after step().",
            "        loss.backward()\n =>         loss.backward()\n        on_step and on_step(step, loss.item())\n",
            "        if on_step:\n            on_step(step, loss.item())\n => ",
        ),
        ("on_step is called after each step.", "if on_step: => if False:"),
        (
            "you take more batches than steps: stop after `steps`, as they may come without end.",
            "range(steps), batches => range(10**6), batches",
        ),
        (
            "`batches` may be a list too: go through it with `for`, or take iter(batches) before the loop.",
            "for step, batch in zip(range(steps), batches, strict=False): => for step in range(steps):",
            "model.loss(batch) => model.loss(next(batches))",
        ),
    ],
)
