"""The panel of a training's plan follows its controls."""

import pytest

from bertlab.course.panels import plan_panel


@pytest.fixture
def controls():
    panel = plan_panel()
    *controls, result = panel.children
    return {control.description: control for control in controls}, result


def test_the_panel_follows_its_controls(controls):
    named, result = controls
    first = result.value
    assert "the whole training" in first and "operations needed" in first and "<b></b>" in first
    named["how many"].value = 32
    assert result.value != first
    named["GPU"].value, named["size"].value = "T4", "large"
    named["how many"].value = 1
    assert "--micro-batch" in result.value
    named["activation checkpointing"].value = True
    assert "activations of the layers" in result.value


def test_mistakes_are_told_in_the_panel(controls):
    named, result = controls
    named["batch"].options = [4, 256]
    named["batch"].value = 4
    assert "fewer than the 8 devices" in result.value
