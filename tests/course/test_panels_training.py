"""The panel of a training's snapshots."""

from dataclasses import replace

import pytest

from bertlab.course.panels import snapshots_panel
from bertlab.training.initial_weights import new_model


@pytest.fixture
def panel(recipe, tok, tmp_path):
    folders = {step: tmp_path / f"step-{step}" for step in (0, 1000)}
    for step, folder in folders.items():
        new_model(replace(recipe, seed=step), tok).save_pretrained(folder, tok)
    return snapshots_panel(folders, tok, "my dog is [MASK].")


def test_the_panel_follows_its_controls(panel):
    text, step, result = panel.children
    assert step.value == 1000 and result.value.count("<tr>") == 6
    last = result.value
    step.value = 0
    assert result.value != last
    text.value = "[MASK] is [MASK]."
    assert result.value.count("<table>") == 2
    text.value = "no gap"
    assert "holds no [MASK]" in result.value
