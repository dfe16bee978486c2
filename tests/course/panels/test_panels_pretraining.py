"""The panels of masking, sentence pairs and pretraining."""

import re
from dataclasses import replace

import pytest

from bertlab.course import panels
from bertlab.course.panels import snapshots_panel
from bertlab.explain.words.next_sentence import next_sentence
from bertlab.training.initial_weights import new_model
from tests.course.panels.conftest import TEXTS


def labels_in(html):
    row = re.search(r"<th>labels</th>(.*?)</tr>", html)[1]
    return [int(number) for number in re.findall(r">(-?\d+)<", row)]


def test_masking_panel_follows_its_rates_and_escapes(model, tok):
    text, rate, mask, random, _, result = panels.masking_panel(model, tok, "my <script> is hairy").children
    assert "<script" not in result.value and "loss" in result.value
    text.value = TEXTS[0]
    rate.value, mask.value, random.value = 1.0, 0.0, 0.0
    ids = tok([TEXTS[0]])["input_ids"][0].tolist()
    assert labels_in(result.value) == [-100, *ids[1:-1], -100]
    assert "[MASK]" not in result.value
    mask.value = 1.0
    assert result.value.count("■") == len(ids) - 2
    random.value = 0.5
    assert "at most 1" in result.value
    text.value = " "
    assert "empty" in result.value


def test_pair_panel_shows_segments_and_both_verdicts(model, tok):
    first, second, result = panels.pair_panel(model, tok, "my dog is <hairy>.", "he likes walks.").children
    assert "<hairy" not in result.value
    types = [int(number) for number in re.findall(r"<small>(\d)</small>", result.value)]
    assert types == tok(["my dog is <hairy>."], ["he likes walks."])["token_type_ids"][0].tolist()
    shares = re.findall(r"<td>(\d+\.\d%)</td>", result.value)
    given, turned = first.value, second.value
    expected = [next_sentence(model, tok, *pair).probability for pair in ((given, turned), (turned, given))]
    assert shares == [f"{share:.1%}" for share in expected]
    second.value = ""
    assert "the second text is empty" in result.value


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
