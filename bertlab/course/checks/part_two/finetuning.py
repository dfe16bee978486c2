"""Checkers of fine-tuning: the loop, layer-wise rates, smoothed labels, the best of several runs."""

from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.course.checks.base import checker, close, expect, none_of, random_tensor, run
from bertlab.course.checks.part_two.classifier import SIZES
from bertlab.course.solutions import one_sentence as solution
from bertlab.training.engine.optim import rate_scales


class _Toy(nn.Module):
    """Two modules with a loss; notes whether it was in training mode, and how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng([]):
            torch.manual_seed(0)
            self.bert, self.classifier = nn.Linear(4, 6), nn.Linear(6, 3)
        self.modes: list[bool] = []

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        self.modes.append(self.training)
        return 5 * F.cross_entropy(self.classifier(self.bert(batch["x"]).tanh()), batch["labels"])


STEPS = 6


@checker
def check_finetune(fn: Callable[..., nn.Module]) -> None:
    """Check fn(model, batches, steps, rate, warmup, clip, on_step, shares) -> the trained model in eval mode."""
    for shares in (None, (0.25, 1.0)):
        mine, noted = _finetuned(fn, shares)
        expect(len(mine.modes) == STEPS, f"{len(mine.modes)} batches were learned from where steps={STEPS}.")
        expect(all(mine.modes), "the model was not in training mode: model.train(), or dropout never works.")
        expect(not mine.training, "the model is still in training mode: end with model.eval().")
        weights = _weights(mine)
        expect(not close(weights, _weights(_Toy())), "no weight has moved: backward(), step(rate), then zero_grad().")
        right, losses = _finetuned(solution.finetune, shares)
        for slip, message in SLIPS:
            wrong = _weights(_finetuned(_slipped(slip), shares)[0])
            known = not close(wrong, _weights(right))
            expect(not (known and close(weights, wrong)), message)
        expect(close(weights, _weights(right)), "the weights moved, but not to where these steps lead.")
        expect(len(noted) == STEPS, f"on_step was called {len(noted)} times in {STEPS} steps.")
        expect([step for step, _ in noted] == list(range(STEPS)), "on_step gets the step, from 0, and the loss.")
        expect(all(isinstance(loss, float) for _, loss in noted), "on_step gets the loss as a float: loss.item().")
        same = all(abs(a - b) < 1e-4 for (_, a), (_, b) in zip(noted, losses, strict=True))
        expect(same, "on_step gets another number than the loss of its step.")
    run(fn, _Toy(), _toy_batches(), 2)
    print("Right: every batch one step, the rate up and down, and each module with its share of it.")


SLIPS = [
    ("flat", "the rate is the same in every step: multiply it by rate_share((step + 0.5) / steps, warmup)."),
    ("late", "the first step has no rate at all: progress is (step + 0.5) / steps, as in chapter 08."),
    ("no zero", "gradients of one step are still there in the next: zero_grad() is missing."),
    ("no clip", "the gradient was not clipped: clip_grad_norm_ before the step."),
    ("by value", "each number of the gradient was clipped; clip the norm of the whole: clip_grad_norm_."),
    ("apart", "each module's gradient was clipped by itself: clip once, the weights of all optimizers together."),
    ("no shares", "the shares are not used: each module has an AdamW of its own, which steps at share * rate."),
    ("no warmup", "`warmup` is not used: it is the second argument of rate_share."),
]


def _toy_batches() -> Iterator[dict[str, Tensor]]:
    for number in range(STEPS + 2):
        yield {"x": 3 * random_tensor(5, 4, seed=number), "labels": torch.arange(5) % 3}
    expect(False, f"you took more batches than steps={STEPS}: stop after `steps`, as they may come without end.")


def _finetuned(fn: Callable, shares: tuple[float, float] | None) -> tuple[_Toy, list[tuple[int, float]]]:
    model, noted = _Toy(), []
    modules = shares and list(zip((model.bert, model.classifier), shares, strict=True))
    result = run(fn, model, _toy_batches(), STEPS, 0.05, 0.4, 0.5, lambda *given: noted.append(given), modules)
    expect(result is model, "return the model, in eval mode.")
    return model, noted


def _slipped(slip: str) -> Callable:
    """The loop with a slip."""

    def loop(model, batches, steps, rate, warmup, clip, on_step, shares):
        modules = [(model, 1.0)] if not shares or slip == "no shares" else shares
        optimizers = [(solution.AdamW(module), share) for module, share in modules]
        groups = [optimizer.parameters for optimizer, _ in optimizers]
        for step, batch in zip(range(steps), batches, strict=False):
            model.loss(batch).backward()
            for weights in groups if slip == "apart" else [sum(groups, [])]:
                if slip == "by value":
                    torch.nn.utils.clip_grad_value_(weights, clip)
                elif slip != "no clip":
                    torch.nn.utils.clip_grad_norm_(weights, clip)
            progress = step / steps if slip == "late" else (step + 0.5) / steps
            factor = 1.0 if slip == "flat" else solution.rate_share(progress, 0.1 if slip == "no warmup" else warmup)
            for optimizer, share in optimizers:
                optimizer.step(share * rate * factor)
                if slip != "no zero":
                    optimizer.zero_grad()
        return model

    return loop


def _weights(model: nn.Module) -> Tensor:
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


@checker
def check_layer_shares(fn: Callable[[nn.Module, float], list[tuple[nn.Module, float]]]) -> None:
    """Check fn(model, decay) -> [(module, share), ...], with every parameter of the model in one of the modules."""
    model = solution.BertForSequenceClassification(BertConfig(**SIZES), 3)
    found = run(fn, model, 0.5)
    pairs = isinstance(found, list) and all(isinstance(each, tuple) and len(each) == 2 for each in found)
    expect(pairs and bool(found), "return a list of pairs (module, share).")
    expect(all(isinstance(module, nn.Module) for module, _ in found), "the first of each pair is a module.")
    mine: dict[str, list[float]] = {name: [] for name, _ in model.named_parameters()}
    names = {weight: name for name, weight in model.named_parameters()}
    for module, share in found:
        for weight in module.parameters():
            mine[names[weight]].append(float(share))
    twice = [name for name, shares in mine.items() if len(shares) > 1]
    expect(not twice, f"{twice[:1]} is in two modules and would be moved twice in each step.")
    for part in ("classifier", "bert.pooler", "bert.embeddings", "bert.encoder.layers"):
        missing = [name for name, shares in mine.items() if name.startswith(part) and not shares]
        expect(not missing, f"{part} is in none of your modules: it would never learn.")
    _check_shares({name: shares[0] for name, shares in mine.items()})
    print("Right: the whole rate at the top, less with each layer below.")


def _check_shares(mine: dict[str, float]) -> None:
    right = rate_scales(list(mine), 0.5)
    own = [mine[next(name for name in mine if name.startswith(start))] for start in BLOCKS]
    expect(own[0] <= own[3], "upside down: the embeddings have the largest share, and the last layer the least.")
    expect(own[3] == 1, f"the last layer has the whole rate, a share of 1; yours has {own[3]:g}.")
    expect(
        mine["classifier.weight"] == 1 and mine["bert.pooler.dense.weight"] == 1, "head and pooler have a share of 1."
    )
    expect(own[0] != own[1], "the embeddings are a step below the first layer: decay times its share.")
    geometric = [0.125, 0.25, 0.5, 1]
    expect(own == geometric, f"from below the shares should be {geometric} for decay=0.5; yours are {own}.")
    expect(all(abs(mine[name] - share) < 1e-9 for name, share in right.items()), "the shares are not the library's.")


BLOCKS = ("bert.embeddings.", *(f"bert.encoder.layers.{number}." for number in range(3)))


@checker
def check_smooth_loss(fn: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    """Check fn(logits (B, N), labels (B,), smoothing) -> the mean cross-entropy with smoothed labels."""
    logits, labels = 3 * random_tensor(5, 4), torch.tensor([0, 3, 1, 1, 2])
    smoothing = 0.2
    loss = run(fn, logits, labels, smoothing)
    expect(isinstance(loss, Tensor) and loss.ndim == 0, "return one number, a tensor without dimensions.")
    right = F.cross_entropy(logits, labels, label_smoothing=smoothing)
    none_of(loss, _known_smoothing(logits, labels, smoothing))
    expect(close(loss, right), "the loss is not that of labels smoothed by `smoothing`.")
    plain = run(fn, logits, labels, 0.0)
    expect(close(plain, F.cross_entropy(logits, labels)), "with smoothing=0 it should be the plain cross-entropy.")
    print("Right: a little of every label for each class, the rest for the right one.")


def _known_smoothing(logits: Tensor, labels: Tensor, smoothing: float) -> list[tuple[Tensor, str]]:
    logs, hot = logits.log_softmax(-1), F.one_hot(labels, logits.size(-1)).float()
    classes = logits.size(-1)

    def mean(target: Tensor, of: Tensor = logs) -> Tensor:
        return -(target * of).sum(-1).mean()

    right = (1 - smoothing) * hot + smoothing / classes
    return [
        (mean(hot), "this is the plain cross-entropy: `smoothing` is not used."),
        (
            mean((1 - smoothing) * hot + smoothing / (classes - 1) * (1 - hot)),
            "you share `smoothing` among the wrong classes; Szegedy et al. share it among all N, the right one too.",
        ),
        (mean((1 - smoothing) * hot + smoothing), "each class gets smoothing / N, not all of it."),
        (mean((1 - smoothing) * hot), "the part that you take from the right class should go to all classes."),
        (mean(hot + smoothing / classes), "what all classes get is taken from the right one: (1 - smoothing) for it."),
        (mean(smoothing * hot + (1 - smoothing) / classes), "the other way round: `smoothing` is the part for all."),
        (mean(right) * len(labels), "this is the sum over the texts: take their mean."),
        (mean(right) / classes, "the mean is over the texts alone: sum over the classes."),
        (mean(right, logits), "these are logits: take log_softmax first."),
        (mean(right, logits.softmax(-1)), "these are probabilities: take their logarithm (log_softmax)."),
        (-mean(right), "the sign: a loss is minus the logarithm."),
    ]


@checker
def check_expected_best(fn: Callable[[Sequence[float], int], float]) -> None:
    """Check fn(accuracies, k) -> the mean of the best of k runs, drawn from these with replacement."""
    accuracies = [0.7, 0.5, 0.9, 0.6]
    given = list(accuracies)
    found = {k: run(fn, given, k) for k in (1, 2, 3, 500)}
    expect(given == accuracies, "your function changed the list it was given: use sorted().")
    expect(all(isinstance(value, int | float) for value in found.values()), "return a number.")
    expect(any(abs(found[k] - 0.9) > 1e-6 for k in (1, 2)), "this is the best of all runs, whatever k is.")
    expect(any(abs(found[k] - 0.675) > 1e-6 for k in (2, 3)), "this is the mean of all runs, whatever k is.")
    without = (0.5 * 0 + 0.6 * 1 + 0.7 * 2 + 0.9 * 3) / 6
    expect(
        abs(found[2] - without) > 1e-6,
        "this is right for draws without replacement; here each run may be drawn again, as the k runs are new ones.",
    )
    expect(abs(found[1] - 0.675) < 5e-3, f"the best of one run is the mean, 0.675; yours is {found[1]:.3f}.")
    from_zero = sum(value * ((i / 4) ** 2 - ((i - 1) / 4) ** 2) for i, value in enumerate(sorted(accuracies)))
    expect(abs(found[2] - from_zero) > 1e-6, "i counts from 1: the smallest accuracy is the best with (1/n)^k.")
    for k in (2, 3):
        right, in_order = _best_of(sorted(accuracies), k), _best_of(accuracies, k)
        expect(abs(found[k] - in_order) > 1e-6, "sort the accuracies first: their order should not matter.")
        expect(abs(found[k] - right) < 5e-3, f"the best of {k} is {right:.4f}; yours is {found[k]:.4f}.")
    expect(abs(found[500] - 0.9) < 1e-3, f"the best of 500 runs is nearly 0.9, the maximum; yours is {found[500]:.3f}.")
    print("Right: from the mean, for one run, towards the maximum, for many.")


def _best_of(ordered: Sequence[float], k: int) -> float:
    """The mean of the best of k draws with replacement, if `ordered` is."""
    total = len(ordered) ** k
    return sum(value * ((i + 1) ** k - i**k) for i, value in enumerate(ordered)) / total
