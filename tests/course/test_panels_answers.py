"""The panel of answer spans, on a small random model."""

import re
from html import unescape

import pytest
import torch

from bertlab import BertConfig, BertForQuestionAnswering, Tokenizer
from bertlab.course import panels
from bertlab.explain.spans import answer

TEXTS = ["my dog is hairy. he likes walks.", "who likes walks?"] * 3


@pytest.fixture(scope="module")
def tok():
    return Tokenizer.train(TEXTS, vocab_size=110)


@pytest.fixture(scope="module")
def model(tok):
    torch.manual_seed(0)
    sizes = dict(hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=40)
    return BertForQuestionAnswering(BertConfig(vocab_size=tok.vocab_size, max_position_embeddings=48, **sizes)).eval()


def test_spans_panel_follows_its_controls_and_escapes(model, tok):
    question, passage, threshold, longest, result = panels.spans_panel(model, tok, TEXTS[1], "my <dog> walks").children
    assert "<dog" not in result.value and "image/png" in result.value
    threshold.value = 15
    assert "not above" in result.value
    threshold.value = -15
    assert "above: no answer" in result.value
    threshold.value, longest.value = 15, 1
    found = answer(model, tok, question.value, passage.value, max_answer_tokens=1)
    assert re.search(r"threshold 15\.0", result.value)
    assert next(span.text for span in found.spans if span.text) in unescape(re.sub(r"<[^>]+>", "", result.value))
    passage.value = " "
    assert "the passage is empty" in result.value


def test_without_a_kernel_there_is_the_square(model, tok):
    still = panels.spans_panel(model, tok, TEXTS[1], TEXTS[0])._repr_mimebundle_()["text/html"]
    assert "image/png" in still and "threshold" in still
