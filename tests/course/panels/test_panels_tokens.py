import pytest

from bertlab.course.panels import pieces_panel
from bertlab.tokenizer import Tokenizer

TEXTS = ["my dog is hairy, and he likes walks in the park.", "penguins are flightless birds"] * 3


@pytest.fixture
def panel():
    return pieces_panel(Tokenizer.train(TEXTS, vocab_size=90), "my Dog <b>")


def test_pieces_follow_the_controls(panel):
    text, size, lowercase, result = panel.children
    assert ">my<" in result.value and "5 words and marks" in result.value
    size.value = size.min
    assert ">##y<" in result.value
    lowercase.value = False
    assert "[UNK]" in result.value
    text.value = ""
    assert "0 words" in result.value


def test_text_is_escaped(panel):
    assert "<b>" not in panel.children[-1].value and "&lt;" in panel.children[-1].value
