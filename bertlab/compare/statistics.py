"""How sure a comparison is: intervals over seeds and examples, paired tests over seeds, and how many seeds are enough.

The scores of a model on a task are an array (S, N, 2), for S seeds and N examples: what each example adds to the
numerator and to the denominator of the measure. Accuracy adds (right, 1), F1 of entities (2 hits, right + predicted).
The examples are the same for all models and seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

RESAMPLES = 2000
LEVEL, POWER = 0.05, 0.8
MOST_SEEDS = 1000

Scores = Sequence[np.ndarray]  # (S, N, 2) for each task


@dataclass(frozen=True)
class Figure:
    """A figure, the mean over tasks, and the bounds of its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class Difference:
    """One model's figure minus another's, the p of a paired t-test over seeds, and the seeds that would be enough."""

    figure: Figure
    p: float
    seeds: int
    enough_seeds: int | None  # None: more than MOST_SEEDS, or no two seeds to judge by

    @property
    def verdict(self) -> str:
        """Return "holds" where the first is better beyond doubt, "reversed" where the second is, else "cannot tell"."""
        if self.p < LEVEL and self.figure.low > 0:
            return "holds"
        return "reversed" if self.p < LEVEL and self.figure.high < 0 else "cannot tell"


def by_seed(scores: Scores) -> np.ndarray:
    """Return the mean over tasks of the measure, for each seed: (S,)."""
    totals = np.stack([task.sum(1) for task in scores])  # (T, S, 2)
    return (totals[..., 0] / np.maximum(totals[..., 1], 1e-12)).mean(0)


def resampled(scores: Scores, seed: int = 0) -> np.ndarray:
    """Return the measure of RESAMPLES draws, with replacement, of seeds and (of each task) of examples: (R,).

    Seeds and examples are drawn apart from each other (Owen 2007, "The pigeonhole bootstrap"). Other scores with as
    many seeds and examples get the same draws: so the difference of two results is that of paired models.
    """
    seeds, each = _all_draws(scores[0].shape[0], tuple(task.shape[1] for task in scores), seed)
    figures = []
    for task, examples in zip(scores, each, strict=True):
        totals = np.stack([((seeds @ task[..., part]) * examples).sum(1) for part in (0, 1)])  # (2, R)
        figures.append(totals[0] / np.maximum(totals[1], 1e-12))
    return np.mean(figures, axis=0)


@lru_cache(maxsize=2)  # the models of a table have them in common
def _all_draws(seeds: int, examples: tuple[int, ...], seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return how often each seed is drawn, (R, S), and for each task how often each example is, (R, N)."""
    rng = np.random.default_rng(seed)
    return _draws(rng, seeds), [_draws(rng, count) for count in examples]


def _draws(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return how often each of `count` things is drawn: (R, count)."""
    return rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES).astype(float)


def interval(value: float, draws: np.ndarray) -> Figure:
    """Return the figure with its percentile interval, which always contains it."""
    low, high = np.percentile(draws, [2.5, 97.5])
    return Figure(value, min(float(low), value), max(float(high), value))


def figure(scores: Scores) -> Figure:
    """Return the mean over seeds and tasks with its interval."""
    return interval(float(by_seed(scores).mean()), resampled(scores))


def compare(better: Scores, worse: Scores) -> Difference:
    """Compare two models with the same seeds on the same examples."""
    differences = by_seed(better) - by_seed(worse)  # (S,)
    draws = resampled(better) - resampled(worse)
    return Difference(
        interval(float(differences.mean()), draws), p_value(differences), len(differences), enough(differences)
    )


def p_value(differences: np.ndarray) -> float:
    """Return the p of a two-sided t-test that the mean of paired differences (S,) is 0; 1 for a single seed."""
    from scipy.stats import ttest_1samp

    if len(differences) < 2:
        return 1.0
    if np.ptp(differences) == 0:
        return 0.0 if differences[0] else 1.0
    return float(ttest_1samp(differences, 0).pvalue)


def enough(differences: np.ndarray) -> int | None:
    """Return the number of seeds with which the t-test would find a difference like this one in 8 of 10 cases."""
    if len(differences) < 2 or not differences.mean():
        return None
    if np.ptp(differences) == 0:
        return 2
    size = abs(differences.mean()) / differences.std(ddof=1)
    return next((seeds for seeds in range(2, MOST_SEEDS + 1) if power(size, seeds) >= POWER), None)


def power(size: float, seeds: int) -> float:
    """Return how probably a t-test finds a mean of `size` standard deviations (Cohen 1988, chapter 2)."""
    from scipy.stats import nct, t

    edge = t.ppf(1 - LEVEL / 2, seeds - 1)
    shift = abs(size) * seeds**0.5
    found, wrong_side = nct.sf(edge, seeds - 1, shift), nct.cdf(-edge, seeds - 1, shift)
    return float(np.nan_to_num(found, nan=1.0) + np.nan_to_num(wrong_side))  # SciPy has no value far out
