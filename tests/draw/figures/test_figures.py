"""Every figure can be drawn, at the common width, from what bertlab.explain gives."""

from io import BytesIO

import pytest
import torch

from bertlab.draw.figures import attention, comparison, embeddings
from bertlab.draw.figures import base as figures
from bertlab.draw.figures.training import learning_curves
from bertlab.evaluation.baselines import Baseline
from bertlab.explain.attention.maps import AttentionMaps
from bertlab.explain.spans import Answer, legal_spans, span_grid
from bertlab.explain.words.fill import Fill
from bertlab.tasks.span_decoding import Span

TOKENS = ["[CLS]", "a", "$x$", "<b>", "[SEP]"]
MAPS = AttentionMaps(TOKENS, [0] * 5, torch.rand(3, 2, 5, 5).softmax(-1))
FILL = Fill(1, ["a", "$5_"], [0.7, 0.2], 0.8)
ROWS = [{"step": 50, "mlm_loss": 4.0, "masked_accuracy": 0.2, "nsp_accuracy": 0.5}]
BASELINES = [Baseline("uniform: ln V", 8.1, 0.0)]


def answer() -> Answer:
    start = torch.arange(5.0)
    mask = torch.tensor([0, 1, 1, 1, 0])
    grid = span_grid(start, start, legal_spans(mask, mask), 9.0)
    best = Span(3, 3, 2, 3, "b", 8.0)
    return Answer(best, [best], 0.1, TOKENS, start.softmax(0), start.softmax(0), grid, (1, 4), "a b")


DRAWN = {
    "masking_strip": lambda: figures.masking_strip(TOKENS * 6, TOKENS * 6, [0, 1, 2, 3, 0] * 6),
    "three_embeddings": lambda: figures.three_embeddings(TOKENS, [0, 0, 0, 1, 1]),
    "fill_bars": lambda: figures.fill_bars({"one": FILL, "two": FILL}, mark=["a"]),
    "fills_over_time": lambda: figures.fills_over_time({"0": FILL, "100": FILL}, "a"),
    "heads_grid": lambda: figures.heads_grid(MAPS, MAPS),
    "one_head": lambda: figures.one_head(MAPS, 0, 1, MAPS, mark=(1, 2)),
    "change_grid": lambda: figures.change_grid({"one": torch.randn(3, 2), "none": torch.zeros(3, 2)}),
    "mask_rows": lambda: attention.mask_rows(
        [TOKENS] * 2, {"$a$": MAPS.weights[0, 0, 1], "b": MAPS.weights[0, 0, 2]}, [1]
    ),
    "answer_bars": lambda: figures.answer_bars({"Who?": answer(), "$x$?": answer()}),
    "bars": lambda: figures.bars({"a": 0.1, "b": 0.9}, "share"),
    "lines": lambda: figures.lines([0, 1], {"a": [0.1, 0.2]}, "x", "y", names=["p", "q"]),
    "curves": lambda: embeddings.curves({"a": torch.rand(3)}, "x", "y", mark=0, x=torch.arange(-1, 2)),
    "by_seed": lambda: comparison.by_seed({"a": [0.5, 0.7]}, "share", 0.5),
    "learning_curves": lambda: learning_curves(ROWS, BASELINES, 100, "title"),
    "learning_curves, nothing yet": lambda: learning_curves([], BASELINES, 100),
}


@pytest.mark.parametrize("name", DRAWN)
def test_figure_is_drawn(name):
    drawn = DRAWN[name]()
    drawn.savefig(BytesIO(), format="png", dpi=50)
    assert drawn.get_figwidth() == figures.WIDTH


def test_the_name_of_a_baseline_stands_where_the_curve_does_not_end():
    loss, _ = learning_curves(ROWS, [*BASELINES, Baseline("frequency", 3.9, 0.0)], 100).axes
    sides = {text.get_text(): text.get_verticalalignment() for text in loss.texts}
    assert sides == {"uniform: ln V": "bottom", "frequency": "top"}


def test_the_name_of_a_low_baseline_stands_above_its_line():
    _, accuracy = learning_curves(ROWS, [Baseline("low", 3.9, 0.05), Baseline("high", 3.9, 0.1)], 100).axes
    sides = {text.get_text(): text.get_verticalalignment() for text in accuracy.texts}
    assert sides == {"low": "bottom", "high": "top", "a coin": "top"}
