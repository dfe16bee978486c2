"""Which weights the live page loads: 8 bits unless they lose gaps."""

import pytest
import torch

from bertlab import BertForMaskedLM, Tokenizer
from bertlab.explain.words.fill import fill_mask
from web import weights
from web.build import MODELS
from web.int8 import GROUP, SCALE, dequantized, quantized
from web.siblings import loss_by_rounding

SMALL = MODELS[-1]


def test_a_rounded_number_is_off_by_half_a_step_at_most():
    table = torch.randn(8, GROUP) * torch.logspace(-5, 1, 8)[:, None]  # groups of very different size
    tensors = {"table": table, "zeros": torch.zeros(2, GROUP), "bias": torch.randn(GROUP), "odd": torch.randn(3, 5)}
    small = quantized(tensors)
    assert small["table"].dtype == torch.int8 and small["table" + SCALE].shape == (8,)
    full = dequantized(small)
    assert full.keys() == tensors.keys()
    step = table.abs().amax(1, keepdim=True) / 127
    assert ((full["table"] - table).abs() <= 0.51 * step + 1e-6).all()
    for name in ("zeros", "bias", "odd"):
        assert torch.equal(full[name], tensors[name]), name


@pytest.mark.parametrize(("lost", "bits"), [(0, 8), (3, 8), (4, 16), (-9, 8)])
def test_8_bits_may_lose_one_gap_of_a_hundred(monkeypatch, lost, bits):
    right, words = iter([150, 150 - lost]), weights.hidden_words().values()  # of 16 bits, of 8

    def guessed(model, tokenizer, texts):
        some = next(right)
        return [(accepted[0] if i < some else "?", 0.5) for i, accepted in enumerate(words)]

    monkeypatch.setattr(weights, "first_guesses", guessed)
    monkeypatch.setattr(weights, "opened", lambda name, tensors: None)
    tensors, figures = weights.chosen_weights("storyworld-tiny")
    assert figures["bits"] == bits and figures["gaps"] == 300 and figures["right"] == {16: 150, 8: 150 - lost}
    assert figures["same"] == 300 - abs(lost) and figures["difference"] == 0
    assert any(tensor.dtype == torch.int8 for tensor in tensors.values()) == (bits == 8)


def test_a_gap_has_one_hidden_word():
    gaps = weights.hidden_words()
    assert len(gaps) == 300
    assert all(text.count("[MASK]") == 1 and accepted and all(accepted) for text, accepted in gaps.items())


def test_first_guesses_are_those_of_the_library():
    model, tokenizer = BertForMaskedLM.from_pretrained(SMALL).eval(), Tokenizer.from_pretrained(SMALL)
    texts = list(weights.hidden_words())[:: weights.BATCH]
    for text, (word, p) in zip(texts, weights.first_guesses(model, tokenizer, texts), strict=True):
        fill = fill_mask(model, tokenizer, text, k=1)[0]
        assert ([word], [p]) == (fill.tokens, pytest.approx(fill.probabilities, abs=1e-5)), text


def test_what_rounding_costs_a_sibling_is_measured():
    tensors = weights.published("english")
    unchanged = loss_by_rounding("opinion", "english-sentiment", tensors, texts=6)
    right = unchanged["right"]
    assert unchanged["same"] == unchanged["texts"] == 6 and right[16] == right[8] and unchanged["measure"] == "accuracy"
    word = "bert.embeddings.word_embeddings.weight"
    damaged = tensors | {word: tensors[word].roll(1, 0)}
    assert loss_by_rounding("names", "english-names", damaged, texts=6)["same"] < 6
