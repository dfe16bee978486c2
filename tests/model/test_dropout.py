"""Dropout with cheap random bits: the right share is dropped, the rest scaled, from torch's generator."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab.model.cpu import Dropout
from tests.conftest import tries


def drop(p, x, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Dropout(p).train()(x)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_each_number_is_dropped_with_the_chance_asked_for(p, dtype):
    dropped = drop(p, torch.ones(1000, 1000, dtype=dtype)) == 0
    five_sigma = 5 * (p * (1 - p) / 1e6) ** 0.5
    assert abs(dropped.double().mean() - p) < five_sigma
    # neighbours share a draw, and must not share their fate
    for distance in (1, 2, 3, 4):
        both = (dropped[:, distance:] & dropped[:, :-distance]).double().mean()
        assert abs(both - p * p) < five_sigma + 5 * (p * p / 1e6) ** 0.5


@tries(50)
@given(st.floats(0, 1), st.integers(0, 9), st.integers(0, 5))
def test_what_stays_is_scaled_so_that_the_mean_stays(p, rows, columns):
    x = torch.randn(rows, columns, dtype=torch.float64)
    y = drop(p, x)
    chance = round(p * 2**16) / 2**16
    expected = x / (1 - chance) if chance < 1 else torch.zeros_like(x)
    kept = y != 0
    torch.testing.assert_close(y[kept], expected[kept])
    assert y.shape == x.shape


def test_the_seed_decides_and_the_gradient_passes_where_the_number_did():
    x = torch.randn(50, 7, requires_grad=True)
    y = drop(0.3, x, seed=1)
    assert y.equal(drop(0.3, x, seed=1)) and not y.equal(drop(0.3, x, seed=2))
    y.sum().backward()
    torch.testing.assert_close(x.grad * x, y)


def test_in_evaluation_nothing_is_dropped():
    x = torch.randn(10, 10)
    assert Dropout(0.5).eval()(x).equal(x)
