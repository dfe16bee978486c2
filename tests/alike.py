"""Compare what two forward passes gave: alike but for rounding.

Products round by where their numbers lie in memory and by how many rows there are: weights mapped from another file, or
a text in a batch, need not give the same bits.
"""

from dataclasses import fields, is_dataclass
from numbers import Real

import pytest
import torch


def assert_alike(one, other, rel=1e-4, abs=1e-5):
    """Compare records, dictionaries and lists part by part: numbers within a tolerance, all else exactly."""
    assert parts(one, rel, abs) == parts(other, None, None)


def parts(value, rel, abs):
    """Return `value` as plain dictionaries and lists; with a tolerance its numbers are wrapped in pytest.approx."""
    if is_dataclass(value):
        compared = [field.name for field in fields(value) if field.compare]
        return type(value).__name__, {name: parts(getattr(value, name), rel, abs) for name in compared}
    if isinstance(value, dict):
        return {key: parts(part, rel, abs) for key, part in value.items()}
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [parts(part, rel, abs) for part in value]
    rounded = isinstance(value, Real) and not isinstance(value, int)
    return pytest.approx(value, rel=rel, abs=abs) if rounded and rel is not None else value
