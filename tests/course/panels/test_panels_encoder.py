"""The panel of a deep encoder whose parts can be taken out."""

import pytest

from bertlab import BertConfig, Tokenizer
from bertlab.course.panels import ablation_panel
from bertlab.explain.ablation import PARTS

TEXT = "my dog is hairy. he likes walks."


@pytest.fixture
def panel():
    tok = Tokenizer.train([TEXT] * 3, vocab_size=60)
    sizes = dict(hidden_size=24, num_attention_heads=2, intermediate_size=40, max_position_embeddings=32)
    return ablation_panel(BertConfig(vocab_size=tok.vocab_size, initializer_range=0.1, **sizes), tok, TEXT, ("norm",))


def test_the_panel_follows_its_controls(panel):
    text, layers, spread, seed, *boxes, result = panel.children
    assert [box.value for box in boxes] == [part == "norm" for part in PARTS]
    assert result.value.count("<tr>") == 1 + 13
    layers.value = 3
    assert result.value.count("<tr>") == 1 + 4
    for control, value in ((spread, 0.2), (seed, 1), (boxes[0], True), (text, "he likes <b>")):
        before = result.value
        control.value = value
        assert result.value != before
    text.value = ""
    assert "empty" in result.value


def test_the_signal_dies_without_residual_connections_and_norms(panel):
    for box, part in zip(panel.children[4:-1], PARTS, strict=True):
        box.value = part in ("residual", "norm")
    panel.children[1].value = 24
    last_row = panel.children[-1].value.split("<tr>")[-1]
    assert "0.0e+00" in last_row or "e-1" in last_row or "e-2" in last_row
