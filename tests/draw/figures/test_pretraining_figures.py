"""The figures of the chapters on both tasks of pretraining can be drawn, at the common width."""

import torch

from bertlab.draw.figures import pretraining as masking_figures
from bertlab.draw.figures import pretraining as pairs_figures

ODDS = torch.tensor([3.0, -2.0, 0.5, -0.1])


def test_what_is_asked_for_stands_out():
    drawn = masking_figures.ids_and_labels(["[CLS]", "dog"], [2, 4], [-100, 7], [0, 1])
    weights = {text.get_text(): text.get_weight() for text in drawn.axes[0].texts}
    assert weights["-100"] == "normal" and weights["7"] == "bold"


def test_negatives_have_exchanged_their_second_texts():
    drawn = pairs_figures.pairs_from_documents([("a", "b"), ("c", "d")], ("e", "f"))
    made = [text.get_text() for text in drawn.axes[0].texts if text.get_position()[0] > 4.2]
    assert [text for text in made if len(text) == 1] == ["a", "d", "c", "b", "e", "f"]


def test_log_odds_count_every_pair_on_its_side():
    drawn = pairs_figures.pair_log_odds({"one": ODDS}, torch.tensor([0, 1, 0, 1]))
    right = [patch for patch in drawn.axes[0].patches if patch.get_x() >= 0]
    assert sum(patch.get_height() for patch in right) == 2
