"""The panels of the chapters on context and on input embeddings."""

import torch

from bertlab.course import panels
from bertlab.course.panels import positions_panel


def test_picture_follows_the_controls():
    box = positions_panel({"start": torch.eye(5), "end": torch.rand(5, 5)}, position=3)
    moment, position, result = box.children
    assert result.value.startswith('<img style="max-width:100%" src="data:image/png;base64,') and position.max == 4
    seen = {result.value}
    position.value = 1
    seen.add(result.value)
    moment.value = "start"
    seen.add(result.value)
    assert len(seen) == 3


def test_words_come_into_sight_with_the_sliders(model, tok):
    box = panels.context_panel(model, tok, "my dog [MASK] hairy")
    text, left, right, result = box.children
    assert "hairy" not in result.value.partition("<table>")[0] and result.value.count("<tr>") == 5
    right.value = 20
    assert "hairy" in result.value.partition("<table>")[0]
    left.value = 1
    assert ">my<" not in result.value.partition("<table>")[0]
    text.value = "<b> no gap"
    assert "holds no [MASK]" in result.value and "<b> no" not in result.value
