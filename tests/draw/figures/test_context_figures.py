"""The figures of contexts can be drawn, at the common width, and show what they were given."""

import pytest
import torch

from bertlab.draw.figures import context as figures

TOKENS = ["a", "$b", "[MASK]", "<c>"]
FIGURES = {
    "who sees what": lambda: figures.who_sees_what(
        TOKENS, 2, {"all": ("in order", [True] * 4), "none": ("", [False] * 4)}
    ),
    "likeness": lambda: figures.likeness_map(torch.eye(3), {"one": ["a", "$b"], "two": ["_c"]}),
    "gaps": lambda: figures.reader_grid({"left": {"a": 0.1, "b": 1.0}, "right": {"a": 0.5, "b": 0.9}}, "share"),
    "readers": lambda: figures.reader_bars({"a": torch.rand(3, 2), "b": torch.rand(3, 2)}, ["x", "y"], "share", 0.5),
    "grids": lambda: figures.context_grids({"one": torch.rand(3, 2), "$two": torch.rand(3, 2)}, TOKENS, 2),
    "left out": lambda: figures.left_out_bars(TOKENS, 2, {"one": [0.1] * 4, "two": [0.9] * 4}, "p"),
}


def test_the_grid_names_what_comes_into_sight_from_the_gap_on():
    axes = FIGURES["grids"]().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["nothing", "+ $b", "+ a"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["nothing", "+ <c>"]


def test_bars_are_means_and_dots_are_seeds():
    axes = figures.reader_bars({"a": torch.tensor([[0.2], [0.4]])}, ["x"], "share").axes[0]
    assert axes.patches[0].get_height() == pytest.approx(0.3)
    assert sorted(float(dots.get_offsets()[0, 1]) for dots in axes.collections) == pytest.approx([0.2, 0.4])
