"""The checkers of the chapter on fair comparisons pass right answers and name each known mistake."""

import numpy as np
from scipy.stats import norm, ttest_1samp, ttest_rel
from scipy.stats import t as student

from bertlab.compare.statistics import power as known_power
from bertlab.course import (
    check_holm,
    check_measure_by_seed,
    check_paired_bootstrap,
    check_paired_runs,
    check_paired_t,
    check_power,
    check_verdict,
)
from tests.course.checks.checking import checker_tests

# Figures of seeds


def measure(scores):
    numerators, denominators = scores.sum(1).T
    return numerators / denominators


# Paired runs


def runs(train, measure, settings, seeds):
    return {name: np.stack([measure(train(setting, seed)) for seed in seeds]) for name, setting in settings.items()}


def other_seeds(train, measure, settings, seeds):
    return {
        name: np.stack([measure(train(setting, seed + place)) for seed in seeds])
        for place, (name, setting) in enumerate(settings.items())
    }


def one_seed(train, measure, settings, seeds):
    return {name: np.stack([measure(train(setting, 0)) for _ in seeds]) for name, setting in settings.items()}


def sorted_seeds(train, measure, settings, seeds):
    return runs(train, measure, settings, sorted(seeds))


def turned(train, measure, settings, seeds):
    return {name: rows.T for name, rows in runs(train, measure, settings, seeds).items()}


def by_name(train, measure, settings, seeds):
    return runs(train, measure, {name: name for name in settings}, seeds)


# Bootstrap


def bootstrap(
    better, worse, rng, draws, seeds=True, examples=True, paired=True, replace=True, own=False, sums=True, pooled=True
):
    def drawn(scores, rows, columns):
        some = scores[rows[:, None], columns]
        if not pooled:
            return np.mean(some[..., 0].sum(1) / some[..., 1].sum(1))
        return some.sum((0, 1))[0] / some.sum((0, 1))[1] if sums else np.mean(some[..., 0] / some[..., 1])

    def pick():
        s, n = better.shape[:2]
        rows = rng.choice(s, s, replace) if seeds else np.arange(s)
        size = (s, n) if own else (1, n)
        return rows, (rng.choice(n, size, replace) if examples else np.arange(n)[None])

    found = []
    for _ in range(draws):
        first = pick()
        found.append(drawn(better, *first) - drawn(worse, *(first if paired else pick())))
    return np.array(found)


def wrong_bootstrap(**options):
    return lambda better, worse, rng, draws: bootstrap(better, worse, rng, draws, **options)


# The t-test


def paired_t(differences):
    if np.ptp(differences) == 0:
        return float(differences[0] == 0)
    count = len(differences)
    t = differences.mean() / (differences.std(ddof=1) / count**0.5)
    return 2 * student.sf(abs(t), count - 1)


def t_with(ddof=1, normal=False, degrees=-1, sides=2, error=True, absolute=True):
    def fn(d):
        t = d.mean() / (d.std(ddof=ddof) / (len(d) ** 0.5 if error else 1))
        t = abs(t) if absolute else t
        return sides * (norm.sf(t) if normal else student.sf(t, len(d) + degrees))

    return fn


# The verdict


def verdict(low, high, p):
    if p >= 0.05 or low <= 0 <= high:
        return "cannot tell"
    return "holds" if low > 0 else "reversed"


# Power


def power(size, seeds, rng, trials):
    return float((ttest_1samp(rng.normal(size, 1, (trials, seeds)), 0, axis=1).pvalue < 0.05).mean())


def known_spread(size, seeds, rng, trials):
    return float((abs(rng.normal(size, 1, (trials, seeds)).mean(1)) * seeds**0.5 > 1.96).mean())


def small_shift(size, seeds, rng, trials):
    return power(size / seeds**0.5, seeds, rng, trials)


def one_sided(size, seeds, rng, trials):
    values = rng.normal(size, 1, (trials, seeds))
    found = (ttest_1samp(values, 0, axis=1).pvalue < 0.05) & (values.mean(1) > 0)
    return float(found.mean()) if size else 0.05


def over_comparisons(size, seeds, rng, trials):
    return float((ttest_1samp(rng.normal(size, 1, (trials, seeds)), 0, axis=0).pvalue < 0.05).mean())


def all_found(size, *rest):
    return over_comparisons(size, *rest) if size else power(size, *rest)


# Many claims


def holm(p_values):
    order, adjusted, least = np.argsort(p_values), np.empty(len(p_values)), 0.0
    for place, number in enumerate(order):
        least = max(least, min(1, (len(p_values) - place) * p_values[number]))
        adjusted[number] = least
    return adjusted


def bonferroni(p_values):
    return np.minimum(1, len(p_values) * np.array(p_values))


def falling(p_values):
    ranks = np.argsort(np.argsort(p_values))
    return np.minimum(1, (len(p_values) - ranks) * np.array(p_values))


def hochberg(p_values):
    from scipy.stats import false_discovery_control

    return false_discovery_control(p_values)


RIGHT = {
    check_measure_by_seed: measure,
    check_paired_runs: runs,
    check_paired_bootstrap: bootstrap,
    check_paired_t: paired_t,
    check_verdict: verdict,
    check_power: power,
    check_holm: holm,
}
MISTAKES = {
    check_measure_by_seed: {
        "mean of the examples' own quotients": lambda scores: (scores[..., 0] / scores[..., 1]).mean(1),
        "one number for each seed: sum over the examples alone": lambda s: s[..., 0].sum() / s[..., 1].sum(),
        "upside down": lambda scores: 1 / measure(scores),
        "shape (2,)": lambda scores: scores[..., 0].sum(0) / scores[..., 1].sum(0),
    },
    check_paired_runs: {
        "different seeds": other_seeds,
        "train with each of the seeds": one_seed,
        "keep the order of `seeds`": sorted_seeds,
        "are (S, N), here (3, 4)": turned,
        "not its name": by_name,
    },
    check_paired_bootstrap: {
        "the examples are not drawn": wrong_bootstrap(examples=False),
        "the seeds are not drawn": wrong_bootstrap(seeds=False),
        "with replacement (without": wrong_bootstrap(replace=False),
        "two models drawn apart": wrong_bootstrap(paired=False),
        "each seed has examples of its own": wrong_bootstrap(own=True),
        "quotient of sums": wrong_bootstrap(sums=False),
        "divide": wrong_bootstrap(pooled=False),
        "better - worse": lambda better, worse, rng, draws: bootstrap(worse, better, rng, draws),
        "one difference for each draw": lambda better, worse, rng, draws: bootstrap(better, worse, rng, draws).mean(),
    },
    check_paired_t: {
        "one-sided": t_with(sides=1),
        "normal distribution": t_with(normal=True),
        "S - 1 degrees of freedom": t_with(degrees=0),
        "ddof=1": t_with(ddof=0),
        "square root of S": t_with(error=False),
        "absolute value of t": t_with(absolute=False),
        "before you divide by 0": t_with(),
    },
    check_verdict: {
        "both must agree": lambda low, high, p: (
            "cannot tell" if p >= 0.05 else "holds" if low + high > 0 else "reversed"
        ),
        "p is 0.2": lambda low, high, p: "holds" if low > 0 else "reversed" if high < 0 else "cannot tell",
        "the second is better": lambda low, high, p: "holds" if p < 0.05 and not low <= 0 <= high else "cannot tell",
        "*below* 0.05": lambda low, high, p: verdict(low, high, p - 0.001),
    },
    check_power: {
        "estimate the spread from the seeds": known_spread,
        "too near to 0": small_shift,
        "never found": one_sided,
        "none are found: take mean and spread of each comparison": over_comparisons,
        "all are found: take mean and spread of each comparison": all_found,
        "power is the share that is found": lambda size, *rest: 1 - power(size, *rest) if size else 0.05,
        "without any difference 5% are found": lambda size, seeds, rng, trials: 0.5 + 0 * size,
    },
    check_holm: {
        "Bonferroni": bonferroni,
        "running maximum": falling,
        "these are sorted": lambda p_values: np.sort(holm(p_values)),
        "applied twice": lambda p_values: np.sort(holm(p_values))[np.argsort(p_values)],
        "Benjamini and Hochberg": hochberg,
        "at most 1": lambda p_values: np.array(sorted(p_values)) @ np.zeros((len(p_values),) * 2) + 1.5,
    },
}

test_right_answer_passes, test_mistake_is_named = checker_tests(RIGHT, MISTAKES)


def test_other_ways_to_be_right():
    check_paired_t(lambda d: np.nan_to_num(ttest_rel(d, 0 * d).pvalue, nan=1.0))
    check_power(lambda size, seeds, rng, trials: known_power(size, seeds))
    check_holm(lambda p_values: list(holm(p_values)))
