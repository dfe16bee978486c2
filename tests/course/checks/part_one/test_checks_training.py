"""The checkers of chapter 08 pass right answers and name the mistake of each known wrong one."""

from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from bertlab.course import (
    Mistake,
    broken,
    check_adamw,
    check_adamw_step,
    check_diagnose,
    check_diagnosis,
    check_rate_factor,
    check_train_step,
)
from bertlab.course.broken import BUGS, Chart, broken_trainings, letters

# Learning rate


def share(progress, warmup):
    if progress < warmup:
        return progress / warmup
    return (1 - progress) / (1 - warmup)


RATE_MISTAKES = {
    "there is no warm-up": lambda p, w: 1 - p,
    "begins at 0": lambda p, w: 0.1 + 0.9 * share(p, w) if p < w else share(p, w),
    "factor is 1": lambda p, w: share(p, w) if p < w else 1 - p,
    "the rate is 0": lambda p, w: min(1.0, p / w) if w else 1.0,
    "goes up to": lambda p, w: 2 * share(p, w),
    "straight lines": lambda p, w: share(p, w) ** 2,
    "division by 0": lambda p, w: p / w if p <= w else share(p, w),
    "a number": lambda p, w: None,
}


def test_rate_right():
    check_rate_factor(share)


@pytest.mark.parametrize("words", RATE_MISTAKES)
def test_rate_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_rate_factor(RATE_MISTAKES[words])


# AdamW


def adamw(corrected=True, root=True, eps_inside=False, decay_by_rate=True, l2=False, sign=1, squared=True):
    def step_on(weight, grad, m, v, step, rate, betas, eps, decay):
        if l2:
            grad, decay = grad + decay * weight, 0.0
        m = betas[0] * m + (1 - betas[0]) * grad
        v = betas[1] * v + (1 - betas[1]) * (grad**2 if squared else grad.abs())
        mean, square = (m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)) if corrected else (m, v)
        below = (square + eps).sqrt() if eps_inside else (square.sqrt() if root else square) + eps
        shrink = decay * (rate if decay_by_rate else 1)
        return weight - shrink * weight - sign * rate * mean / below, m, v

    return step_on


ADAMW_MISTAKES = {
    "too small at first": adamw(corrected=False),
    "by the square root of v": adamw(root=False),
    "outside the root": adamw(eps_inside=True),
    "not multiplied by the learning rate": adamw(decay_by_rate=False),
    "Adam with L2": adamw(l2=True),
    "up the gradient": adamw(sign=-1),
    "running mean of their squares": adamw(squared=False),
    "weight decay is missing": lambda *args: adamw()(*args[:-1], 0.0),
    "running mean of the gradients": lambda *args: (adamw()(*args)[0], args[2], adamw()(*args)[2]),
    "m must be divided": lambda w, g, m, v, t, rate, betas, eps, decay: (
        w - rate * decay * w - rate * (0.9 * m + 0.1 * g) / (1 - 0.9**t),
        0.9 * m + 0.1 * g,
        0.98 * v + 0.02 * g**2,
    ),
    "return weight, m, v": lambda *args: adamw()(*args)[0],
}


def test_adamw_right():
    check_adamw_step(adamw())


def test_adamw_in_place_right():
    def step_on(weight, grad, m, v, *options):
        for old, new in zip((weight, m, v), adamw()(weight, grad, m, v, *options), strict=True):
            old.copy_(new)
        return weight, m, v

    check_adamw_step(step_on)


@pytest.mark.parametrize("words", ADAMW_MISTAKES)
def test_adamw_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_adamw_step(ADAMW_MISTAKES[words])


class Adam:
    """The reader's AdamW by that of torch, or with a slip."""

    def __init__(self, model, betas, eps, decay, spared=True, shrink=1.0, clears=False):
        kinds = [[p for p in model.parameters() if (p.ndim > 1) == kind] for kind in (True, False)]
        decays = (decay, 0.0 if spared else decay)
        groups = [{"params": kind, "weight_decay": each} for kind, each in zip(kinds, decays, strict=True)]
        self.torch = torch.optim.AdamW(groups, betas=betas, eps=eps)
        self.shrink, self.clears = shrink, clears

    def step(self, rate):
        for group in self.torch.param_groups:
            group["lr"] = rate * self.shrink
        self.torch.step()
        if self.clears:
            self.torch.zero_grad()

    def zero_grad(self):
        self.torch.zero_grad()


class KeepsGradients(Adam):
    def zero_grad(self):
        pass


ADAMW_CLASS_MISTAKES = {
    "for matrices alone": partial(Adam, spared=False),
    "not those of AdamW": partial(Adam, shrink=0.5),
    "no weight has moved": partial(Adam, shrink=0.0),
    "the work of zero_grad": partial(Adam, clears=True),
    "leaves gradients behind": KeepsGradients,
}


def test_adamw_class_right():
    check_adamw(Adam)


@pytest.mark.parametrize("words", ADAMW_CLASS_MISTAKES)
def test_adamw_class_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_adamw(ADAMW_CLASS_MISTAKES[words])


# One step


def step_of(*parts):
    """A training step that does these parts in this order."""
    does = {
        "forward": lambda optimizer, mlm, nsp, rate, clip: (mlm + nsp).backward(),
        "mlm": lambda optimizer, mlm, nsp, rate, clip: mlm.backward(),
        "nsp": lambda optimizer, mlm, nsp, rate, clip: nsp.backward(),
        "mean": lambda optimizer, mlm, nsp, rate, clip: ((mlm + nsp) / 2).backward(),
        "clip": lambda optimizer, mlm, nsp, rate, clip: torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip),
        "value": lambda optimizer, mlm, nsp, rate, clip: torch.nn.utils.clip_grad_value_(optimizer.parameters, clip),
        "step": lambda optimizer, mlm, nsp, rate, clip: optimizer.step(rate),
        "default step": lambda optimizer, mlm, nsp, rate, clip: optimizer.step(),
        "zero": lambda optimizer, *_: optimizer.zero_grad(),
    }

    def step(model, optimizer, batch, rate, clip):
        words, pairs = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        mlm = F.cross_entropy(words.flatten(0, 1), batch["labels"].flatten())
        nsp = F.cross_entropy(pairs, batch["next_sentence_label"])
        for part in parts:
            does[part](optimizer, mlm, nsp, rate, clip)
        return (mlm + nsp).item()

    return step


def emptied(model, optimizer, batch, rate, clip):
    loss = step_of(*RIGHT)(model, optimizer, batch, rate, clip)
    batch.pop("labels")
    return loss


RIGHT = ("forward", "clip", "step", "zero")
STEP_MISTAKES = {
    r"zero_grad\(\) is missing": step_of("forward", "clip", "step"),
    r"zero_grad\(\) only after": step_of("forward", "clip", "zero", "step"),
    "rate of this step is `rate`": step_of("forward", "clip", "default step", "zero"),
    "was not clipped": step_of("forward", "step", "zero"),
    "or only after step": step_of("forward", "step", "clip", "zero"),
    "each number of the gradient": step_of("forward", "value", "step", "zero"),
    "next sentences is not learned": step_of("mlm", "clip", "step", "zero"),
    "masked words is not learned": step_of("nsp", "clip", "step", "zero"),
    "mean of the two": step_of("mean", "clip", "step", "zero"),
    "have not moved": step_of("forward", "clip", "zero"),
    "as a float": lambda *args: torch.tensor(step_of(*RIGHT)(*args)),
    "loss that you return is not": lambda *args: step_of(*RIGHT)(*args) / 2,
    "changed the batch": emptied,
}


@pytest.mark.parametrize("parts", [RIGHT, ("zero", "forward", "clip", "step")])
def test_step_right(parts):
    state = torch.get_rng_state()
    check_train_step(step_of(*parts))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("words", STEP_MISTAKES)
def test_step_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_train_step(STEP_MISTAKES[words])


# Broken BERT


@pytest.fixture(scope="module")
def charts(tok, texts):
    """Ten steps instead of sixty of every training, on a small vocabulary."""
    ids = [tok.encode_batch(list(sentences)) for sentences in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broken, "RECIPE", replace(broken.RECIPE, steps=10, hidden_size=32, batch_size=8))
        return {5: broken_trainings(ids[:20], ids[20:], tok, seed=5)}


def by_bug(charts) -> dict[str, Chart]:
    return {bug: charts[5][letter] for letter, bug in letters(5).items()}


def differs(chart: Chart, other: list[float]) -> bool:
    return max(abs(a - b) for a, b in zip(chart.held_out, other, strict=True)) > 1e-5


def test_every_bug_leaves_its_mark_and_no_other(charts):
    for bug, chart in by_bug(charts).items():
        assert (chart.loss[0] < 0.5 * chart.held_out[0]) == (bug == "all positions")
        assert (chart.nsp_loss[-1] < 0.3) == (bug == "label 0 lost")
        assert (chart.rate[0] == chart.rate[-1]) == (bug == "schedule overwritten")
        assert differs(chart, chart.again) == (bug == "no eval")
        assert differs(chart, chart.padded) == (bug in ("no eval", "no mask"))


def test_what_every_token_is_asked_for_shows_in_the_loss(charts):
    found = by_bug(charts)
    assert found["every token"].loss[-1] != pytest.approx(found["healthy"].loss[-1], abs=1e-3)
    assert len(found["healthy"].loss) == 10 and found["healthy"].evaluated == [1, 10]


def test_the_same_seed_gives_the_same_chart(charts, tok, texts, monkeypatch):
    monkeypatch.setattr(broken, "RECIPE", replace(broken.RECIPE, steps=10, hidden_size=32, batch_size=8))
    ids = [tok.encode_batch(list(sentences)) for sentences in texts]
    torch.manual_seed(99)
    again = broken.Training("no eval", tok, 5).chart(ids[:20], ids[20:])
    assert again.loss == pytest.approx(by_bug(charts)["no eval"].loss, abs=1e-4)


def test_letters_are_dealt_anew_for_each_seed():
    assert sorted(letters(0).values()) == sorted(BUGS)
    assert len({tuple(letters(seed).values()) for seed in range(4)}) == 4


DIAGNOSIS_MISTAKES = {
    "one name for each": lambda: {"A": "healthy"},
    "no bug called flu": lambda: letters(0) | {"C": "flu"},
    "more than one training": lambda: dict.fromkeys("ABCDEFG", "healthy"),
    "look at the learning rate": lambda: letters(0) | {"A": "healthy", "E": "schedule overwritten"},
    "look where the reported loss starts": lambda: letters(0) | {"B": "no eval", "C": "all positions"},
}


def test_diagnosis_right():
    check_diagnosis(lambda: letters(0))
    check_diagnosis(lambda: letters(3), seed=3)


@pytest.mark.parametrize("words", DIAGNOSIS_MISTAKES)
def test_diagnosis_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_diagnosis(DIAGNOSIS_MISTAKES[words])


def told(charts):
    """The diagnosis that knows the answers."""
    return {id(charts[5][letter]): bug for letter, bug in letters(5).items()}


def confused(a, b):
    """Take what has the bug `a` for one with `b`."""
    return lambda charts: lambda chart: b if told(charts)[id(chart)] == a else told(charts)[id(chart)]


DIAGNOSE_MISTAKES = {
    "nothing wrong with .: look at what further padding does": confused("no mask", "healthy"),
    "measuring the same text again": confused("no eval", "no mask"),
    "is not 'all positions': look at the next-sentence loss": confused("label 0 lost", "all positions"),
    "is not one of": confused("no mask", "padding"),
}


def test_diagnose_right(charts):
    check_diagnose(lambda chart: told(charts)[id(chart)], charts)


@pytest.mark.parametrize("words", DIAGNOSE_MISTAKES)
def test_diagnose_mistake(words, charts):
    with pytest.raises(Mistake, match=words):
        check_diagnose(DIAGNOSE_MISTAKES[words](charts), charts)
