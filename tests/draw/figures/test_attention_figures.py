"""The figures of the attention chapter show what they are given."""

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

from bertlab.draw.figures import attention as attention_figures

TOKENS = ["[CLS]", "a", "$x$", "<b>", "[SEP]"]
WEIGHTS = torch.rand(5, 5).softmax(-1)


def test_four_matrices_stand_two_by_two():
    axes = attention_figures.matrices({str(i): WEIGHTS for i in range(4)}, TOKENS).axes
    assert [ax.get_title() for ax in axes[:4]] == ["0", "1", "2", "3"]
    assert axes[0].get_subplotspec().get_geometry()[:2] == (2, 2)


def test_long_tokens_stay_in_their_boxes():
    tokens = ["[CLS]", *["because", "characteristic", "a"] * 6, "[SEP]"]
    drawn = attention_figures.one_query(tokens, 1, torch.full((20,), 0.05))
    FigureCanvasAgg(drawn).draw()
    (ax,) = drawn.axes
    boxes = [patch.get_window_extent() for patch in ax.patches]
    names = [text.get_window_extent() for text in ax.texts if text.get_family() == ["monospace"]]
    assert len(boxes) == len(names) == 21
    assert all(box.x0 <= name.x0 and name.x1 <= box.x1 for box, name in zip(boxes[1:], names[1:], strict=True))
