import torch

from bertlab.course.panels import positions_panel


def test_picture_follows_the_controls():
    box = positions_panel({"start": torch.eye(5), "end": torch.rand(5, 5)}, position=3)
    moment, position, result = box.children
    assert result.value.startswith('<img src="data:image/png;base64,') and position.max == 4
    seen = {result.value}
    position.value = 1
    seen.add(result.value)
    moment.value = "start"
    seen.add(result.value)
    assert len(seen) == 3
