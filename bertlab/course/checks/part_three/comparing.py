"""Checkers of fair comparisons: figures of seeds, paired runs, bootstrap, t-test, verdict, power, many claims."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

from bertlab.compare.statistics import by_seed, p_value
from bertlab.compare.statistics import power as known_power
from bertlab.course.checks.base import checker, run
from bertlab.course.observe import expect


def _numbers(found: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    values = np.asarray(found, dtype=float)
    expect(values.shape == shape, f"return {what}, shape {shape}; yours has shape {values.shape}.")
    expect(bool(np.isfinite(values).all()), "a number of yours is not finite: did you divide by 0?")
    return values


@checker
def check_measure_by_seed(fn: Callable[[np.ndarray], np.ndarray]) -> None:
    """Check fn(scores (S, N, 2)) -> the measure of each seed (S,): sum of numerators / sum of denominators."""
    scores = np.array([[[2, 4], [0, 2], [6, 6]], [[0, 3], [0, 1], [4, 4]]], dtype=float)
    found = run(fn, scores)
    expect(np.ndim(found) > 0, "return one number for each seed: sum over the examples alone.")
    values = _numbers(found, (2,), "one number for each seed")
    means = "this is the mean of the examples' own quotients: divide the sums, so that long examples count for more."
    expect(not np.allclose(values, (scores[..., 0] / scores[..., 1]).mean(1)), means)
    turned = "upside down: numerators are in [..., 0], denominators in [..., 1]."
    expect(not np.allclose(values, scores[..., 1].sum(1) / scores[..., 0].sum(1)), turned)
    right = by_seed([scores])
    expect(np.allclose(values, right), f"here the measures are {right.round(3)}; yours are {values.round(3)}.")
    _numbers(run(fn, np.array([[[1, 1], [0, 0]]], dtype=float)), (1,), "one number for each seed")
    print("Right: sums of numerators over sums of denominators, for each seed.")


@checker
def check_paired_runs(fn: Callable[..., Mapping[str, np.ndarray]]) -> None:
    """Check fn(train, measure, settings, seeds) -> the scores (S, N) of each setting, the same seeds for all."""
    calls: list[tuple[str, int]] = []

    def train(setting: str, seed: int) -> tuple[str, int]:
        calls.append((setting, seed))
        return setting, seed

    def measure(model: tuple[str, int]) -> np.ndarray:
        return np.array([ord(model[0][0]), model[1], 0.5, 1.0])

    settings, seeds = {"first": "a", "second": "b"}, (3, 8, 5)
    found = run(fn, train, measure, settings, seeds)
    expect(bool(calls), "train a model for each setting and seed: call train(setting, seed).")
    expect(
        {setting for setting, _ in calls} == {"a", "b"}, "train gets the setting, a value of `settings`, not its name."
    )
    own = {setting: sorted({seed for name, seed in calls if name == setting}) for setting in ("a", "b")}
    expect(own["a"] == own["b"], f"the settings have different seeds, {own}: then luck differs too. Give all the same.")
    expect(own["a"] == sorted(seeds), f"train with each of the seeds {list(seeds)}; yours are {own['a']}.")
    expect(len(calls) == 6, f"{len(calls)} trainings for 2 settings and 3 seeds: train each once.")
    expect(
        isinstance(found, Mapping) and set(found) == {*settings}, "return a dictionary with the names of `settings`."
    )
    for (name, setting), (row, seed) in product(settings.items(), enumerate(seeds)):
        rows = np.asarray(found[name])
        expect(rows.shape == (3, 4), f"scores of a setting are (S, N), here (3, 4); yours have shape {rows.shape}.")
        message = f"row {row} of {name!r} is not what seed {seed} scored: keep the order of `seeds`."
        expect(bool(np.array_equal(rows[row], measure((setting, seed)))), message)
    print("Right: each setting once with each seed, and the same seeds for all.")


def _paired_cases() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Pairs of scores (S, N, 2): examples that differ, with seeds all alike; seeds that differ, with examples alike."""
    rng = np.random.default_rng(0)
    hard, change = rng.normal(0, 3, 40), rng.normal(0.5, 1, 40)
    examples = [np.tile(row, (4, 1)) for row in (hard + change, hard)]
    luck, gain = rng.normal(0, 3, 5), rng.normal(0.5, 1, 5)
    seeds = [np.tile(column[:, None], (1, 40)) for column in (luck + gain, luck)]
    first, second = ([np.stack([x, np.ones_like(x)], -1) for x in case] for case in (examples, seeds))
    return {"examples": (first[0], first[1]), "seeds": (second[0], second[1])}


UNPAIRED = "the spread is that of two models drawn apart: draw seeds and examples once, and take both models there."


@checker
def check_paired_bootstrap(fn: Callable[..., np.ndarray]) -> None:
    """Check fn(better, worse (S, N, 2), rng, draws) -> (draws,) differences of the measures. Seeds and examples are
    drawn with replacement, apart from each other, the same for both."""
    cases = _paired_cases()
    for name, (better, worse) in cases.items():
        values = _numbers(
            run(fn, better, worse, np.random.default_rng(1), 3000), (3000,), "one difference for each draw"
        )
        axis = 1 if name == "examples" else 0
        differences = (better - worse)[..., 0].mean(1 - axis)
        count = len(differences)
        _check_spread(values.std(), differences.std() / count**0.5, better[..., 0].std() / count**0.5, name, better)
        expect(
            abs(values.mean() - differences.mean()) < 0.1, "the draws lie around another difference: better - worse."
        )
    sums = (
        "the measure of a draw is a quotient of sums: sum numerators and denominators of what was drawn, then divide."
    )
    by_example, by_seed = [[[0, 1], [9, 9]] * 20] * 2, [[[0, 1]] * 40, [[9, 9]] * 40]
    for listed, mean in ((by_example, 0.9), (by_seed, 0.7)):  # of two seeds both are drawn (0.9) in half of the draws
        weights = np.array(listed, dtype=float)
        found = run(fn, weights, weights * [0, 1], np.random.default_rng(2), 2000)
        expect(abs(float(np.mean(found)) - mean) < 0.06, sums)
    print("Right: seeds and examples drawn with replacement, the same for both models.")


def _check_spread(found: float, right: float, apart: float, name: str, scores: np.ndarray) -> None:
    """Name the mistake that a spread of the draws betrays, where only the examples, or only the seeds, differ."""
    if found < 0.02 * right:
        missing = f"the {name} are not drawn: the draws do not differ where only the {name} do."
        expect(False, f"{missing} Draw as many as there are, with replacement (without, all come once).")
    expect(abs(found / right - 1) < 0.12 or found < 1.5 * right, UNPAIRED)
    expect(
        abs(found / right - scores.shape[0] ** -0.5) > 0.08 or name == "seeds",
        "each seed has examples of its own, so their luck averages out: draw the examples once, for all seeds.",
    )
    expect(
        abs(found / right - 1) < 0.12,
        f"where only the {name} differ the draws spread by {right:.3f}; yours {found:.3f}.",
    )


@checker
def check_paired_t(fn: Callable[[np.ndarray], float]) -> None:
    """Check fn(differences (S,)) -> the two-sided p of a paired t-test."""
    from scipy.stats import norm
    from scipy.stats import t as student

    for values in ([0.03, 0.05, 0.01], [-0.02, -0.05, -0.04, 0.01], [0.2, -0.1, 0.05, 0.3, 0.12]):
        d = np.array(values)
        count, spread = len(d), d.std(ddof=1)
        t = d.mean() / (spread / count**0.5)
        found = run(fn, d)
        expect(np.ndim(found) == 0 and found is not None, "return one number, p.")
        wrong = {
            float(
                student.sf(abs(t), count - 1)
            ): "this is one-sided: a difference of the other sign counts too. Double it.",
            float(student.sf(t, count - 1)): "this is one-sided: a difference of the other sign counts too.",
            float(2 * norm.sf(abs(t))): "this is the normal distribution: with few seeds t has heavier tails.",
            float(
                2 * student.sf(abs(t), count)
            ): "S - 1 degrees of freedom: the mean was estimated from the same numbers.",
            float(
                2 * student.sf(abs(d.mean() / (d.std() / count**0.5)), count - 1)
            ): "the spread of a sample divides by S - 1 (ddof=1).",
            float(
                2 * student.sf(abs(d.mean() / spread), count - 1)
            ): "the error of a mean is the spread divided by the square root of S.",
            float(
                2 * student.sf(t, count - 1)
            ): "take the absolute value of t: a negative difference is as far from 0.",
        }
        right = p_value(d)
        if abs(float(found) - right) > 1e-6:
            for value, message in wrong.items():
                expect(abs(float(found) - value) > 1e-6, message)
        expect(abs(float(found) - right) <= 1e-6, f"for {values} p is {right:.4f}; yours is {float(found):.4f}.")
    with np.errstate(all="ignore"):
        found = run(fn, np.zeros(3))
    expect(float(found) == 1, "where all differences are 0 neither is better: return 1 before you divide by 0.")
    print("Right: the mean difference in units of its error, against Student's t with S - 1 degrees of freedom.")


@checker
def check_verdict(fn: Callable[[float, float, float], str]) -> None:
    """Check fn(low, high, p) -> "holds", "reversed" or "cannot tell"."""
    cases = {
        (0.01, 0.05, 0.01): ("holds", "interval and test both say that the first is better."),
        (-0.05, -0.01, 0.01): ("reversed", "interval and test both say that the second is better."),
        (0.01, 0.05, 0.2): ("cannot tell", "the interval leaves out 0, but p is 0.2: both must agree."),
        (-0.01, 0.05, 0.01): ("cannot tell", "p is below 0.05, but the interval has 0 in it: both must agree."),
        (-0.05, -0.01, 0.2): ("cannot tell", "the interval is below 0, but p is 0.2: both must agree."),
        (-0.05, 0.05, 0.9): ("cannot tell", "neither interval nor test sees a difference."),
        (0.01, 0.05, 0.05): ("cannot tell", "p must be *below* 0.05."),
    }
    for (low, high, p), (right, reason) in cases.items():
        found = run(fn, low, high, p)
        expect(found == right, f"({low} to {high}), p = {p}: {right!r}, not {found!r}; {reason}")
    print("Right: a verdict takes both, and else one cannot tell.")


@checker
def check_power(fn: Callable[..., float]) -> None:
    """Check fn(size, seeds, rng, trials) -> the share of simulated comparisons that a paired t-test finds."""
    from scipy.stats import nct, norm
    from scipy.stats import t as student

    for size, seeds in ((0.0, 6), (1.0, 4), (0.8, 15), (-1.0, 10)):
        found = run(fn, size, seeds, np.random.default_rng(3), 4000)
        expect(np.ndim(found) == 0 and found is not None and 0 <= float(found) <= 1, "return one number, a share.")
        right, share = known_power(size, seeds), float(found)
        if abs(share - right) < 0.04:
            continue
        all_or_none = share == 1 or (share == 0 and size >= 0)
        over = "take mean and spread of each comparison over its seeds, not over the comparisons (axis=1, not 0)."
        expect(not all_or_none, f"of 4,000 comparisons {'all' if share else 'none'} are found: {over}")
        expect(
            size != 0, f"without any difference 5% are found by chance; yours finds {share:.0%}. Test each at p < 0.05."
        )
        edge = norm.isf(0.025)
        known = norm.sf(edge - abs(size) * seeds**0.5)
        message = "too many are found: the test has to estimate the spread from the seeds themselves. Use the t-test."
        expect(abs(share - known) > 0.02 or abs(known - right) < 0.04, message)
        edge = student.isf(0.025, seeds - 1)
        one = nct.sf(edge, seeds - 1, abs(size)) + nct.cdf(-edge, seeds - 1, abs(size))
        expect(abs(share - one) > 0.04, "draw differences around `size`, with a spread of 1: yours lie too near to 0.")
        expect(abs(share - (1 - right)) > 0.04, "this is the share that is missed: power is the share that is found.")
        expect(size > 0 or share > 0.1, "a negative difference is never found: the test is two-sided.")
        expect(False, f"for a difference of {size:g} and {seeds} seeds the power is {right:.2f}; yours is {share:.2f}.")
    print("Right: the share of comparisons of this size that would be found.")


@checker
def check_holm(fn: Callable[[Sequence[float]], Sequence[float]]) -> None:
    """Check fn(p values) -> Holm's adjusted p values, in the order given."""
    given = [0.01, 0.04, 0.03, 0.005, 0.9]
    order, count = np.argsort(given), len(given)
    ranked = np.array(given)[order]
    steps = (count - np.arange(count)) * ranked
    right = np.empty(count)
    right[order] = np.minimum(1, np.maximum.accumulate(steps))
    plain, hochberg = np.empty(count), np.empty(count)
    plain[order] = steps
    there, back = np.minimum(1, np.maximum.accumulate(steps)), "the order is applied twice, not undone"
    hochberg[order] = np.minimum.accumulate((ranked * count / np.arange(1, count + 1))[::-1])[::-1]
    values = _numbers(run(fn, list(given)), (count,), "one adjusted p for each p")
    wrong = {
        "this is Bonferroni, p times the number of claims: Holm multiplies the smallest by m, the next by m - 1, ...": (
            np.minimum(1, count * np.array(given))
        ),
        "an adjusted p is below that of a smaller p: take the running maximum in sorted order.": np.minimum(1, plain),
        f"{back}: adjusted[order] = ... puts them back, ...[order] does not.": there[order],
        "these are sorted: put them back into the order of the claims.": np.sort(right),
        "this is Benjamini and Hochberg's correction: it limits the share of false claims, not their chance.": hochberg,
    }
    if not np.allclose(values, right):
        for message, result in wrong.items():
            expect(not np.allclose(values, result), message)
    expect(bool((values <= 1).all()), "a probability is at most 1.")
    expect(np.allclose(values, right), f"for {given} Holm gives {right.round(3)}; yours is {values.round(3)}.")
    top = _numbers(run(fn, [0.6, 0.7]), (2,), "one adjusted p for each p")
    expect(bool((top <= 1).all()), "a probability is at most 1.")
    print("Right: the smallest p times m, the next times m - 1, never falling, at most 1.")
