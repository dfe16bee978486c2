"""The figures of the attention chapter can be drawn, at the common width."""

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

from bertlab.draw.figures import attention as attention_figures

TOKENS = ["[CLS]", "a", "$x$", "<b>", "[SEP]"]
WEIGHTS = torch.rand(5, 5).softmax(-1)
PAIR = {"raw": [0.5, 0.9], "scaled": [0.2, 0.2]}

DRAWN = {
    "one_query": lambda: attention_figures.one_query(TOKENS, 0, WEIGHTS[0]),
    "scores_and_weights": lambda: attention_figures.scores_and_weights(TOKENS, WEIGHTS[0].log(), WEIGHTS[0]),
    "matrices": lambda: attention_figures.matrices({"one": WEIGHTS, "two": WEIGHTS}, TOKENS, "share"),
    "four matrices": lambda: attention_figures.matrices({str(i): WEIGHTS for i in range(4)}, TOKENS),
    "masks": lambda: attention_figures.masks({"one": WEIGHTS > 0.2, "two": WEIGHTS > 0.3}, TOKENS),
    "why_scale": lambda: attention_figures.why_scale([4, 16], [2.0, 4.0], PAIR, PAIR),
    "shares": lambda: attention_figures.shares(TOKENS, heads=2, width=3),
    "attention_flow": attention_figures.attention_flow,
}


def test_four_matrices_stand_two_by_two():
    axes = DRAWN["four matrices"]().axes
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
