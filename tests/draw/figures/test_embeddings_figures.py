from io import BytesIO

import pytest
import torch

from bertlab.draw.figures import embeddings as embeddings_figures

SQUARE = torch.eye(6)
DRAWN = {
    "position_table": lambda: embeddings_figures.position_table(torch.randn(5, 4)),
    "similarities": lambda: embeddings_figures.similarities({"a": SQUARE, "b": -SQUARE}, border=3),
    "curves": lambda: embeddings_figures.curves({"a": [0.1, 0.2], "b": torch.rand(3)}, "x", "y", mark=1),
    "compared": lambda: embeddings_figures.compared({"a": [0.1, 0.2], "b": torch.rand(2), "c": [0, 1]}, "x", "y", 1),
}


@pytest.mark.parametrize("name", DRAWN)
def test_figure_draws(name):
    fig = DRAWN[name]()
    fig.savefig(BytesIO(), format="png")
    assert fig.get_size_inches()[0] == 8.0
