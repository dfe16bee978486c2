"""The panel of one token that asks."""

import pytest
import torch

from bertlab.course.panels import query_panel
from bertlab.course.panels.attention import sharpened


@pytest.fixture
def panel(model, tok):
    return query_panel(model, tok, "my dog is hairy. he likes <b> walks.", position=2)


def test_the_panel_follows_its_controls(panel):
    text, layer, head, token, sharpness, result = panel.children
    assert "layer 1, head 1: <b><bdi>dog</bdi></b> asks" in result.value
    for control, value in ((head, 2), (layer, 2), (token, 3), (sharpness, 8.0)):
        before = result.value
        control.value = value
        assert result.value != before
    assert "layer 2, head 2: <b><bdi>is</bdi></b>" in result.value
    assert "<b> walks" not in result.value


def test_a_token_beyond_the_text_is_the_last_one(panel):
    panel.children[3].value = 40
    assert "<bdi>[SEP]</bdi></b> asks" in panel.children[-1].value
    panel.children[0].value = " "
    assert "empty" in panel.children[-1].value


def test_sharpness_multiplies_the_scores():
    scores = torch.tensor([[1.0, 3.0, -20.0]])
    for sharpness in (0.0, 0.5, 1.0, 4.0):
        torch.testing.assert_close(
            sharpened(scores.softmax(-1), sharpness), (sharpness * scores).softmax(-1), atol=1e-4, rtol=0
        )
    torch.testing.assert_close(sharpened(scores.softmax(-1), 0.0), torch.full((1, 3), 1 / 3))
