"""The figures of the encoder chapter can be drawn, at the common width."""

from io import BytesIO

import pytest
import torch

from bertlab.draw.figures import encoder as encoder_figures
from bertlab.draw.figures.base import WIDTH
from bertlab.explain.ablation import Signal

DEAD = Signal([1.0, 1e-9, 0.0], [0.7, 1e-7, 0.0], [0.0, 0.1, 1.0])
X = torch.linspace(-3, 3, 7)

DRAWN = {
    "encoder_flow": encoder_figures.encoder_flow,
    "activations": lambda: encoder_figures.activations(X, {"ReLU": X.relu(), "x": X}),
    "signals": lambda: encoder_figures.signals({"whole": DEAD, "without": DEAD}),
    "parts_grid": lambda: encoder_figures.parts_grid(torch.rand(3, 2), ["norm", "residual"], "share"),
    "parameter_bars": lambda: encoder_figures.parameter_bars({"one": {"a": 10, "b": 20}, "two": {"a": 1, "b": 200}}),
}


@pytest.mark.parametrize("name", DRAWN)
def test_figure_is_drawn(name):
    drawn = DRAWN[name]()
    drawn.savefig(BytesIO(), format="png", dpi=50)
    assert drawn.get_figwidth() == WIDTH


def test_a_bar_says_what_its_model_has_in_all():
    drawn = encoder_figures.parameter_bars({"one": {"a": 10_000_000, "b": 21_300_000}})
    assert [text.get_text() for text in drawn.axes[0].texts] == ["10.0", "21.3", "31.3"]
