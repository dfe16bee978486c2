"""The figures of labels for words show what they are given."""

import torch

from bertlab.draw.figures.tasks import labels as label_figures

NAMES = ["O", "B-pet", "I-pet"]
FORBIDDEN = torch.tensor([[0, 0, 1], [0, 0, 0], [0, 0, 0]]).bool()
STEPS = torch.tensor([[0.5, 1.0, -1e4], [0.1, 0.0, 3.0], [0.0, -2.0, 0.0]])
F1 = {"pretrained": {"linear": [0.9, 0.8], "CRF": [0.91, 0.92]}, "random": {"linear": [0.4, 0.4], "CRF": [0.5, 0.6]}}


def test_later_pieces_are_not_asked():
    drawn = label_figures.pieces_and_labels([["a"], ["$x$", "##y", "##z"]], ["O", "B-pet"], NAMES)
    texts = [text.get_text() for text in drawn.axes[0].texts]
    assert texts.count("-100") == 4 and "B-pet" in texts and "##z" in texts  # [CLS], ##y, ##z, [SEP]


def test_forbidden_steps_have_no_number_and_no_part_in_the_scale():
    drawn = label_figures.transitions(NAMES, {"one": STEPS, "two": STEPS}, FORBIDDEN)
    shown = [text.get_text() for text in drawn.axes[0].texts]
    assert len(shown) == 8 and "3.0" in shown and "−2.0" in shown
    assert drawn.axes[0].images[0].get_clim() == (-3.0, 3.0)


def test_every_seed_has_a_dot():
    drawn = label_figures.by_seed(F1, "F1")
    dots = [line for line in drawn.axes[0].lines if line.get_linestyle() == "None"]
    assert [len(line.get_xdata()) for line in dots] == [2, 2]
