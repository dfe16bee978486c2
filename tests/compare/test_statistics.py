"""Intervals, tests and verdicts against known answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, ttest_rel

from bertlab.compare.statistics import Difference, Figure, by_seed, compare, enough, figure, p_value, power


def accuracy(*shares: float, examples: int = 400) -> np.ndarray:
    """Scores (S, N, 2) with these shares of right answers, drawn anew for each seed."""
    rng = np.random.default_rng(0)
    right = np.stack([rng.permutation(np.arange(examples) < share * examples) for share in shares])
    return np.stack([right, np.ones_like(right)], axis=-1).astype(float)


def test_the_measure_is_a_quotient_of_sums_and_the_mean_over_tasks():
    entities = np.array([[[2, 3], [0, 1]], [[4, 4], [2, 4]]], dtype=float)  # (S, N, 2): 2 hits, right + predicted
    assert by_seed([entities]).tolist() == [0.5, 0.75]
    assert by_seed([entities, accuracy(1.0, 0.25)]).tolist() == [0.75, 0.5]


@given(st.integers(1, 4), st.integers(1, 30), st.floats(0, 1))
def test_runs_that_are_all_alike_have_an_interval_without_width(seeds, examples, value):
    same = np.broadcast_to(np.array([value, 1.0]), (seeds, examples, 2))
    found = figure([same])
    assert [found.low, found.high] == pytest.approx([value, value])


def test_the_difference_of_a_model_to_itself_is_a_point_and_nothing_can_be_told():
    scores = accuracy(0.7, 0.8, 0.6)
    found = compare([scores], [scores])
    assert (found.figure, found.p, found.verdict) == (Figure(0.0, 0.0, 0.0), 1.0, "cannot tell")
    assert found.enough_seeds is None


def test_the_interval_over_examples_is_that_of_the_binomial():
    found = figure([accuracy(0.7, examples=1000)])
    low, high = binom.interval(0.95, 1000, 0.7)
    assert found.value == pytest.approx(0.7)
    assert [found.low, found.high] == pytest.approx([low / 1000, high / 1000], abs=0.006)


def test_the_interval_over_seeds_is_wider_than_over_examples_alone():
    apart, alike = figure([accuracy(0.5, 0.7, 0.9)]), figure([accuracy(0.7, 0.7, 0.7)])
    assert apart.value == pytest.approx(alike.value) and apart.high - apart.low > 4 * (alike.high - alike.low)


def test_pairing_by_examples_narrows_the_interval_of_a_difference():
    hard = accuracy(0.6, 0.6, 0.6)
    easier = hard.copy()
    easier[:, np.flatnonzero(hard[0, :, 0] == 0)[:20], 0] = 1
    paired = compare([easier], [hard]).figure
    other = compare([easier], [hard[:, np.random.default_rng(5).permutation(400)]]).figure
    assert paired.value == pytest.approx(other.value) and paired.high - paired.low < 0.6 * (other.high - other.low)


def test_the_test_is_the_paired_t_test():
    better, worse = [0.71, 0.74, 0.79, 0.73], [0.69, 0.74, 0.70, 0.71]
    assert p_value(np.subtract(better, worse)) == pytest.approx(ttest_rel(better, worse).pvalue)
    assert p_value(np.array([0.3])) == 1.0


@pytest.mark.parametrize("size, seeds, known", [(0.5, 34, 0.808), (0.8, 15, 0.821), (1.0, 10, 0.803)])
def test_the_power_of_a_paired_t_test(size, seeds, known):
    """As G*Power 3.1 gives it, two-sided, alpha 0.05."""
    assert power(size, seeds) == pytest.approx(known, abs=0.002)


@pytest.mark.parametrize("size", [3.0, 4.0, 10.0, 50.0, 1000.0])
def test_power_rises_to_one_with_a_large_difference(size):
    found = [power(size, seeds) for seeds in range(2, 40)]
    assert found == sorted(found) and found[-1] == pytest.approx(1) and power(-size, 5) == power(size, 5)
    assert enough(np.array([1, 1 + 1 / size, 1 - 1 / size])) in (2, 3, 4)


def test_seeds_that_are_enough():
    unit = np.array([1.0, -1.0, 2.0, -2.0, 1.5, -1.5])
    differences = unit / unit.std(ddof=1) + 0.5  # half a standard deviation
    assert enough(differences) == 34
    assert enough(np.array([0.1])) is None and enough(np.array([0.2, 0.2])) == 2
    assert enough(np.array([1.0, -1.0001])) is None  # more than a thousand


@pytest.mark.parametrize(
    "better, worse, verdict",
    [
        ((0.8, 0.81, 0.8), (0.5, 0.5, 0.51), "holds"),
        ((0.5, 0.5, 0.51), (0.8, 0.81, 0.8), "reversed"),
        ((0.5, 0.8, 0.6), (0.6, 0.5, 0.7), "cannot tell"),
        ((0.8,), (0.5,), "cannot tell"),  # one seed proves nothing of the next
    ],
)
def test_verdicts(better, worse, verdict):
    found = compare([accuracy(*better)], [accuracy(*worse)])
    assert found.verdict == verdict and found.seeds == len(better)


def test_a_verdict_needs_both_the_interval_and_the_test():
    sure, unsure = Figure(0.1, 0.05, 0.15), Figure(0.1, -0.01, 0.2)
    assert Difference(sure, 0.2, 3, 9).verdict == Difference(unsure, 0.01, 3, 9).verdict == "cannot tell"
