"""The figures of contexts show what they were given."""

import pytest
import torch

from bertlab.draw.figures import context as figures

TOKENS = ["a", "$b", "[MASK]", "<c>"]


def test_the_grid_names_what_comes_into_sight_from_the_gap_on():
    axes = figures.context_grids({"one": torch.rand(3, 2), "$two": torch.rand(3, 2)}, TOKENS, 2).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["nothing", "+ $b", "+ a"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["nothing", "+ <c>"]


def test_bars_are_means_and_dots_are_seeds():
    axes = figures.reader_bars({"a": torch.tensor([[0.2], [0.4]])}, ["x"], "share").axes[0]
    assert axes.patches[0].get_height() == pytest.approx(0.3)
    assert sorted(float(dots.get_offsets()[0, 1]) for dots in axes.collections) == pytest.approx([0.2, 0.4])
