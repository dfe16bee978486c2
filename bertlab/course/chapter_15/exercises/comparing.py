"""Fair comparisons: paired runs, a figure for each seed, bootstrap, t-test, verdict, power, many claims."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertlab.compare.statistics import power as known_power
from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, value


def paired_runs(train, measure, settings, seeds):
    return {name: np.stack([measure(train(setting, seed)) for seed in seeds]) for name, setting in settings.items()}


def _runs(fn, settings, seeds) -> dict[str, Any]:
    calls: list[tuple] = []

    def train(setting, seed):
        calls.append((setting, seed))
        return setting, seed

    def measure(model):
        return np.array([ord(model[0][0]), model[1], 0.5, 1.0])

    given = dict(settings)
    found = fn(train, measure, given, seeds)
    expect(bool(calls), "train a model for each setting and seed: call train(setting, seed).")
    expect(isinstance(found, Mapping), "return a dictionary with the names of `settings`.")
    arrays = all(isinstance(rows, np.ndarray) for rows in found.values())
    expect(arrays, "the scores of a setting are an array (S, N): np.stack makes it of the list of its rows.")
    drawn = [sorted({seed for each, seed in calls if each == setting}) for setting in settings.values()]
    return {
        "train gets the values of `settings`": {setting for setting, _ in calls} == set(settings.values()),
        "all settings have the same seeds": all(own == drawn[0] for own in drawn),
        "the seeds are those given": drawn[0] == sorted(seeds),
        "`settings` stay as they are": given == settings,
        "the trainings, sorted,": sorted(calls),
        "result": {name: _numbers(rows) for name, rows in found.items()},
    }


def _numbers(found: Any) -> Tensor:
    return torch.as_tensor(np.asarray(found, dtype=float))


ALL_SEEDS = "train with each of `seeds`, and with no other."

check_paired_runs = Exercise(
    paired_runs,
    lambda: [({"first": "a", "second": "b"}, (3, 8, 5)), ({"one": "c"}, (2, 7))],
    right="Right: each setting once with each seed, and the same seeds for all.",
    observe=_runs,
    slips=[
        (ALL_SEEDS, "train(setting, seed) => train(setting, seeds[0])"),
        (ALL_SEEDS, "for seed in seeds => for seed in range(len(seeds))"),
        ("train gets the setting, a value of `settings`, not its name.", "train(setting, => train(name,"),
        (
            "the settings have different seeds: then luck differs too. Give all the same.",
            "train(setting, seed) => train(setting, seed + ord(setting))",
        ),
        ("train each setting once with each seed.", "measure( => train(setting, seed) and measure("),
        ("keep the order of `seeds`.", "in seeds => in sorted(seeds)"),
        ("scores of a setting are (S, N): a row for each seed.", "for seed in seeds]) => for seed in seeds]).T"),
        ("keep the score of each example: (S, N), no mean.", "for seed in seeds]) => for seed in seeds]).mean(1)"),
    ],
)


def measure_by_seed(scores):
    sums = scores.sum(1)  # (S, N, 2) -> (S, 2)
    return sums[:, 0] / sums[:, 1]


def _on_arrays(fn, *case) -> dict[str, Any]:
    """Observe a function of arrays, for which a case has lists."""
    given = [np.array(each, dtype=float) if isinstance(each, list) else each for each in case]
    with np.errstate(all="ignore"):
        result = fn(*given)
    same = [np.array_equal(each, old) for each, old in zip(given, case, strict=True)]
    return {"result": _numbers(result), "changed": [f"argument {n}" for n, kept in enumerate(same, 1) if not kept]}


QUOTIENTS = "return sums[:, 0] / sums[:, 1]"

check_measure_by_seed = Exercise(
    measure_by_seed,
    lambda: [([[[2, 4], [0, 2], [6, 6]], [[0, 3], [0, 1], [4, 4]]],), ([[[1, 1], [0, 0]]],)],
    right="Right: sums of numerators over sums of denominators, for each seed.",
    observe=_on_arrays,
    slips=[
        (
            "this is the mean of the examples' own quotients: divide the sums, so that long examples count for more.",
            f"{QUOTIENTS} => return (scores[..., 0] / scores[..., 1]).mean(1)",
        ),
        (
            "upside down: numerators are in [..., 0], denominators in [..., 1].",
            f"{QUOTIENTS} => return sums[:, 1] / sums[:, 0]",
        ),
        (
            "return one number for each seed: sum over the examples alone.",
            f"{QUOTIENTS} => return sums[:, 0].sum() / sums[:, 1].sum()",
        ),
        ("return one number for each seed, not for each example: sum over dim 1.", "scores.sum(1) => scores.sum(0)"),
    ],
)


def paired_bootstrap(better, worse, rng, draws=2000):
    seeds, examples = better.shape[:2]
    rows, columns = rng.integers(seeds, size=(draws, seeds, 1)), rng.integers(examples, size=(draws, 1, examples))
    first, second = (scores[rows, columns].sum((1, 2)) for scores in (better, worse))  # (R, 2) each
    return first[:, 0] / first[:, 1] - second[:, 0] / second[:, 1]


def _pairs() -> list[tuple]:
    """Pairs of scores (S, N, 2). Examples differ and seeds are alike, or the other way round; then unequal weights."""
    rng = np.random.default_rng(0)
    hard, change = rng.normal(0, 3, 40), rng.normal(0.5, 1, 40)
    luck, gain = rng.normal(0, 3, (5, 1)), rng.normal(0.5, 1, (5, 1))
    plain = [
        [np.stack([np.broadcast_to(x, shape), np.ones(shape)], -1) for x in pair]
        for shape, pair in (((4, 40), (hard + change, hard)), ((5, 1), (luck + gain, luck)))
    ]
    by_example, by_seed = np.array([[[0, 1], [9, 9]] * 20] * 2), np.array([[[0, 1]] * 40, [[9, 9]] * 40])
    weighted = [(scores.astype(float), scores * [0.0, 1.0]) for scores in (by_example, by_seed)]
    kinds = "only the examples differ", "only the seeds differ", "examples weigh unequally", "seeds weigh unequally"
    return [(*pair, kind) for pair, kind in zip([*plain, *weighted], kinds, strict=True)]


@cache
def _right(kind: str) -> tuple[float, float]:
    """Mean and spread of many draws of the reference from a pair of `_pairs`, drawn once for all that is checked."""
    ((better, worse, _),) = (pair for pair in _pairs() if pair[-1] == kind)
    draws = paired_bootstrap(better, worse, np.random.default_rng(0), 4000)
    return float(draws.mean()), float(draws.std())


def _drawn(fn, better, worse, kind) -> dict[str, Any]:
    """Mean and spread of the draws, with room for another order of drawing."""
    given = better.copy(), worse.copy()
    found = np.asarray(fn(*given, np.random.default_rng(1), 1500), dtype=float)
    expect(found.shape == (1500,), f"return one difference for each draw, (1500,); yours has the shape {found.shape}.")
    expect(bool(np.isfinite(found).all()), "a number of yours is not finite: did you divide by 0?")
    first, again, other = (_numbers(fn(*given, np.random.default_rng(seed), 20)) for seed in (1, 1, 2))
    mean, spread = _right(kind)
    return {
        "the scores stay as they are": np.array_equal(better, given[0]) and np.array_equal(worse, given[1]),
        "the draws come from the rng that is given": torch.equal(first, again) and not torch.allclose(first, other),
        f"the spread of the draws where {kind}": _near(min(found.std(), 2 * spread), spread, spread / 8),
        "the mean has the sign of better - worse": bool(found.mean() * mean > 0),
        f"the mean of the draws where {kind}": _near(found.mean(), mean, 0.1),
    }


def _near(found: float, right: float, room: float) -> float:
    """Return `right` if `found` is near it, else `found` in steps of `room`: so chance changes neither."""
    return right if abs(found - right) < room else room * round(found / room)


ROWS, COLUMNS = "rng.integers(seeds, size=(draws, seeds, 1))", "rng.integers(examples, size=(draws, 1, examples))"
SUMS, DIFFERENCE = ".sum((1, 2)) for", "return first[:, 0] / first[:, 1] - second[:, 0] / second[:, 1]"
SEEDS, EXAMPLES = "np.arange(seeds)[:, None]", "np.arange(examples)"
OF_SUMS = "the measure of a draw is a quotient of sums: sum numerators and denominators of what was drawn, then divide."

check_paired_bootstrap = Exercise(
    paired_bootstrap,
    _pairs,
    right="Right: seeds and examples drawn with replacement, the same for both models.",
    observe=_drawn,
    slips=[
        ("the examples are not drawn: draw as many as there are, with replacement.", f"{COLUMNS} => {EXAMPLES}"),
        ("the seeds are not drawn: draw as many as there are, with replacement.", f"{ROWS} => {SEEDS}"),
        (
            "all draws are alike: draw with replacement (without, all come once).",
            f"{COLUMNS} => {EXAMPLES}",
            f"{ROWS} => np.broadcast_to({SEEDS}, (draws, seeds, 1))",
        ),
        (
            "the spread is that of two models drawn apart: draw seeds and examples once, and take both models there.",
            "scores[rows, columns] => scores[rng.permuted(rows, axis=0), rng.permuted(columns, axis=0)]",
        ),
        (
            "each seed has examples of its own, so their luck averages out: draw the examples once, for all seeds.",
            "(draws, 1, examples) => (draws, seeds, examples)",
        ),
        (
            OF_SUMS,
            f"{SUMS} => for",
            f"{DIFFERENCE} => return (first[..., 0] / first[..., 1] - second[..., 0] / second[..., 1]).mean((1, 2))",
        ),
        (
            OF_SUMS,
            f"{SUMS} => .sum(2) for",
            f"{DIFFERENCE} => return (first[..., 0] / first[..., 1] - second[..., 0] / second[..., 1]).mean(1)",
        ),
        ("the draws lie around another difference: better - worse.", "in (better, worse) => in (worse, better)"),
        ("draw from the rng that you are given.", "    seeds, ex =>     rng = np.random.default_rng()\n    seeds, ex"),
    ],
)


def paired_t(differences):
    from scipy.stats import t as student

    if np.ptp(differences) == 0:
        return float(differences[0] == 0)
    count = len(differences)
    t = differences.mean() / (differences.std(ddof=1) / count**0.5)
    return float(2 * student.sf(abs(t), count - 1))


SAME = "    if np.ptp(differences) == 0:\n        return float(differences[0] == 0)\n"

check_paired_t = Exercise(
    paired_t,
    lambda: [
        ([0.03, 0.05, 0.01],),
        ([-0.02, -0.05, -0.04, 0.01],),
        ([0.2, -0.1, 0.05, 0.3, 0.12],),
        ([0, 0, 0],),
        ([0.25, 0.25, 0.25, 0.25],),
    ],
    right="Right: the mean difference in units of its error, against Student's t with S - 1 degrees of freedom.",
    observe=_on_arrays,
    slips=[
        ("this is one-sided: a difference of the other sign counts too. Double it.", "2 * student => student"),
        ("this is one-sided: a difference of the other sign counts too.", "2 * student.sf(abs(t) => student.sf(t"),
        (
            "this is the normal distribution: with few seeds t has heavier tails.",
            "import t as => import norm, t as",
            "student.sf(abs(t), count - 1) => norm.sf(abs(t))",
        ),
        ("S - 1 degrees of freedom: the mean was estimated from the same numbers.", "count - 1)) => count))"),
        ("the spread of a sample divides by S - 1 (ddof=1).", "ddof=1 => ddof=0"),
        ("the error of a mean is the spread divided by the square root of S.", " / count**0.5 => "),
        ("take the absolute value of t: a negative difference is as far from 0.", "abs(t) => t"),
        ("where all differences are 0 neither is better: return 1 before you divide by 0.", f"{SAME} => "),
        ("where all differences are the same and not 0, return 0.", "return float(differences[0] == 0) => return 1.0"),
    ],
    spared={"differences[1] == 0": "there all differences are the same"},
)


def verdict(low, high, p):
    if p < 0.05 and low > 0:
        return "holds"
    return "reversed" if p < 0.05 and high < 0 else "cannot tell"


ZERO_IN_IT = "p is below 0.05, but the interval has 0 in it: both must agree."

check_verdict = Exercise(
    verdict,
    lambda: [
        (low, high, p)
        for p in (0.01, 0.2, 0.05)
        for low, high in ((0.01, 0.05), (-0.05, -0.01), (-0.01, 0.05), (-0.05, 0.05), (0.0, 0.05), (-0.05, 0.0))
    ],
    right="Right: a verdict takes both, and else one cannot tell.",
    observe=value,
    slips=[
        ("the interval leaves out 0, but p is 0.2: both must agree.", "p < 0.05 and => True and"),
        (ZERO_IN_IT, "and low > 0 => and low + high > 0"),
        (ZERO_IN_IT, "and low > 0 => and high > 0"),
        (
            "interval and test both say that the second is better: that is reversed.",
            '"reversed" if p < 0.05 and high < 0 else "cannot tell" => "cannot tell"',
        ),
        ("the interval is below 0: the second is better, which is reversed.", 'return "reversed" => return "holds"'),
        (
            "holds and reversed are swapped: the differences are better - worse.",
            "low > 0 => high < 0",
            "and high < 0 else => and low > 0 else",
        ),
        ("p must be *below* 0.05.", "p < 0.05 => p <= 0.05"),
        ("an interval that ends at 0 does not leave it out.", "low > 0 => low >= 0", "high < 0 => high <= 0"),
    ],
)


def power(size, seeds, rng, trials=4000):
    from scipy.stats import ttest_1samp

    values = rng.normal(size, 1, (trials, seeds))
    return float((ttest_1samp(values, 0, axis=1).pvalue < 0.05).mean())


def _share(fn, size, seeds) -> dict[str, Any]:
    """The share of 2,000 experiments, with room for other draws. More would keep a right loop busy for too long."""
    found = fn(size, seeds, np.random.default_rng(3), 2000)
    expect(found is not None and np.ndim(found) == 0 and 0 <= found <= 1, "return one number, a share.")
    few, again = ([fn(size, seeds, np.random.default_rng(seed), 50) for seed in range(8)] for _ in range(2))
    exact = abs(few[0] - known_power(size, seeds)) < 1e-3  # by the formula, without any draws
    return {
        "the same rng gives the same share": bool(few == again),
        "of two experiments, trials=2, the share is 0, 0.5 or 1": exact
        or fn(size, seeds, np.random.default_rng(3), 2) in (0, 0.5, 1),
        "the draws come from the rng that is given": len(set(few)) > 1 or exact,
        "the share of the experiments that find it": _near(found, known_power(size, seeds), 0.04),
    }


FOUND = "(ttest_1samp(values, 0, axis=1).pvalue < 0.05)"

check_power = Exercise(
    power,
    lambda: [(0.0, 6), (1.0, 4), (0.8, 15), (-1.0, 10)],
    right="Right: the share of comparisons of this size that would be found.",
    observe=_share,
    slips=[
        ("test each experiment over its seeds, not over the experiments (axis=1, not 0).", "axis=1 => axis=0"),
        ("without any difference 5% are found by chance: test each at p < 0.05.", "< 0.05 => < 0.5"),
        (
            "too many are found: the test has to estimate the spread from the seeds themselves. Use the t-test.",
            f"{FOUND} => (abs(values.mean(1)) * seeds**0.5 > 1.96)",
        ),
        (
            "draw differences around `size`, with a spread of 1: yours lie too near to 0.",
            "normal(size, => normal(size / seeds**0.5,",
        ),
        ("this is the share that is missed: power is the share that is found.", "pvalue < => pvalue >="),
        (
            "a negative difference is never found: the test is two-sided.",
            f"{FOUND} => ({FOUND} & (values.mean(1) > 0))",
        ),
        (
            "this test is one-sided: it finds no negative difference, and too many positive ones.",
            "axis=1) => axis=1, alternative='greater')",
        ),
        ("draw from the rng that you are given.", "= rng.normal => = np.random.default_rng().normal"),
        ("use the `trials` that are given: so many experiments.", "(trials, seeds) => (4000, seeds)"),
    ],
    spared={"pvalue <= 0.05": "no p is exactly 0.05"},
)


def holm(p_values):
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(order), 0, -1)  # m, m - 1, ..., 1
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(steps))
    return adjusted


ADJUSTED = "np.minimum(1, np.maximum.accumulate(steps))"

check_holm = Exercise(
    holm,
    lambda: [
        ([0.01, 0.04, 0.03, 0.005, 0.9],),
        ([0.6, 0.7],),
        ([0.02],),
        ([0.03, 0.02, 0.02],),
        (np.array([0.2, 0.01, 0.04]),),
    ],
    right="Right: the smallest p times m, the next times m - 1, never falling, at most 1.",
    observe=lambda fn, p_values: value(lambda given: _numbers(fn(given)), p_values),
    slips=[
        (
            "this is Bonferroni, p times the number of claims: Holm multiplies the next by m - 1, and so on.",
            "np.arange(len(order), 0, -1) => len(order)",
        ),
        (
            "an adjusted p is below that of a smaller p: take the running maximum in sorted order.",
            f"{ADJUSTED} => np.minimum(1, steps)",
        ),
        ("a probability is at most 1.", f"{ADJUSTED} => np.maximum.accumulate(steps)"),
        ("these are sorted: put them back into the order of the claims.", "adjusted[order] = => adjusted[:] ="),
        (
            "the order is applied twice, not undone: adjusted[order] = ... puts them back, ...[order] does not.",
            f"adjusted[order] = {ADJUSTED} => adjusted = {ADJUSTED}[order]",
        ),
        (
            "the smallest p is multiplied by m, the largest by 1; yours the other way round.",
            "len(order), 0, -1 => 1, len(order) + 1",
        ),
        (
            "this is Benjamini and Hochberg's correction: it limits the share of false claims, not their chance.",
            "np.arange(len(order), 0, -1) => len(order) / np.arange(1, len(order) + 1)",
            f"{ADJUSTED} => np.minimum.accumulate(steps[::-1])[::-1]",
        ),
    ],
)
