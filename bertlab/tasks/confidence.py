"""How far a measure may be off because only so many examples were there: 95% intervals by resampling the examples.

The percentile bootstrap (Efron and Tibshirani 1993, chapter 13). Two things that it does not know: another training
run would give another model, and where all examples are alike (all right, say) the interval has no width.
"""

import warnings
from collections.abc import Callable

import numpy as np

RESAMPLES = 1000
AT_ONCE = 20  # resamples that are in memory at a time

Statistic = Callable[..., np.ndarray]  # of columns (..., N) and axis=-1, to (...)


def bounded(name: str, value: float, statistic: Statistic, *columns: np.ndarray, seed: int = 0) -> dict[str, float]:
    """The measure `name` with the bounds of its 95% interval, `NAME_low` and `NAME_high`.

    Each of `columns` has one figure for each example (N,); `statistic` makes the measure of them. The bounds never
    leave out `value` itself, and do not depend on the order of the examples.
    """
    low, high = interval(statistic, *columns, seed=seed)
    return {name: value, f"{name}_low": min(low, value), f"{name}_high": max(high, value)}


def interval(statistic: Statistic, *columns: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Both ends of the 95% interval of `statistic`; of a single example twice its value."""
    from scipy.stats import bootstrap

    order = np.lexsort(columns)
    columns = tuple(column[order] for column in columns)
    if len(order) == 1:
        return (float(statistic(*columns, axis=-1)),) * 2
    options = {"paired": True, "vectorized": True, "method": "percentile"}
    found = bootstrap(columns, statistic, n_resamples=RESAMPLES, batch=AT_ONCE, rng=seed, **options)
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def f1_of_counts(hits: np.ndarray, gold: np.ndarray, said: np.ndarray, axis: int = -1) -> np.ndarray:
    """F1 over all examples of their counts: right, to be found, said; 0 where nothing is to be found or said."""
    hits, total = hits.sum(axis), gold.sum(axis) + said.sum(axis)
    return 2 * hits / np.maximum(total, 1)


def pearson(gold: np.ndarray, said: np.ndarray, axis: int = -1) -> np.ndarray:
    """Pearson correlation; 0 where one side is the same number throughout, and so tells nothing of the other."""
    from scipy.stats import pearsonr

    if gold.shape[axis] < 2:
        return np.zeros(())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of constant input, which is the 0
        return np.nan_to_num(pearsonr(gold, said, axis=axis).statistic)
