"""Intervals hold what they promise: the true value in about 95 of 100 samples."""

import numpy as np
import pytest

from bertlab.tasks.measures import bounded, f1_of_counts, interval, pearson


def coverage(sample, statistic, truth: float, times: int = 300) -> float:
    """The share of intervals that hold the truth, of `times` samples."""
    rng = np.random.default_rng(4)
    ends = [interval(statistic, *sample(rng), seed=seed) for seed in range(times)]
    return float(np.mean([low <= truth <= high for low, high in ends]))


def right_or_wrong(rng):
    return [(rng.random(200) < 0.8).astype(float)]


def related_numbers(rng):
    first = rng.normal(size=100)
    return first, 0.6 * first + 0.8 * rng.normal(size=100)


def entity_counts(rng):
    """Two entities in each of 100 sentences, of which 70% are found, and now and then one too many: F1 2/3."""
    gold = np.full(100, 2)
    hits = rng.binomial(gold, 0.7)
    return hits, gold, hits + rng.binomial(2, 0.4, size=100)


@pytest.mark.parametrize(
    "sample, statistic, truth",
    [
        (right_or_wrong, np.mean, 0.8),
        (related_numbers, pearson, 0.6),
        (entity_counts, f1_of_counts, 2 * 0.7 * 2 / (2 + 0.7 * 2 + 0.4 * 2)),
    ],
)
def test_the_truth_is_inside_nineteen_times_of_twenty(sample, statistic, truth):
    assert 0.90 <= coverage(sample, statistic, truth) <= 0.99


def test_an_interval_has_the_width_of_the_normal_law():
    right = (np.random.default_rng(0).random(2000) < 0.9).astype(float)
    low, high = interval(np.mean, right)
    spread = 1.96 * np.sqrt(right.mean() * (1 - right.mean()) / len(right))
    assert (low, high) == pytest.approx((right.mean() - spread, right.mean() + spread), abs=0.1 * spread)


def test_the_seed_and_the_examples_are_all():
    rng = np.random.default_rng(1)
    gold, said = related_numbers(rng)
    shuffled = rng.permutation(len(gold))
    assert interval(pearson, gold, said) == pytest.approx(interval(pearson, gold[shuffled], said[shuffled]))
    assert interval(pearson, gold, said) != interval(pearson, gold, said, seed=1)


@pytest.mark.parametrize("value", [0.1, 0.9])
def test_bounds_never_leave_the_value_out(value):
    found = bounded("f1", value, np.mean, np.full(5, 0.5))  # whose interval is 0.5 to 0.5
    assert found == {"f1": value, "f1_low": min(0.5, value), "f1_high": max(0.5, value)}


def test_one_example_has_no_width():
    assert bounded("accuracy", 1.0, np.mean, np.ones(1)) == {
        "accuracy": 1.0,
        "accuracy_low": 1.0,
        "accuracy_high": 1.0,
    }
