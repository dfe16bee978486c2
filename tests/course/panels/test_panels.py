"""Panels and baselines, on a small random model."""

import math

import pytest

from bertlab.course import masked_baselines, panels
from bertlab.evaluation.baselines import NeighbourBaselines
from bertlab.explain.attention.maps import attention_maps
from bertlab.inputs.masking import Masking
from tests.course.panels.conftest import QUESTION, TEXTS


def test_fill_panel_follows_its_controls(model, tok):
    box = panels.fill_panel(model, tok, "my dog is [MASK]")
    text, count, result = box.children
    assert result.value.count("<tr>") == 5
    count.value = 7
    assert result.value.count("<tr>") == 7
    text.value = "no gap <b>"
    assert "holds no [MASK]" in result.value


def test_question_panel_answers(reader, tok):
    box = panels.question_panel(reader, tok, QUESTION, TEXTS[1])
    question, _, result = box.children
    assert "passage" in result.value
    question.value = ""
    assert "the question is empty" in result.value


def test_baselines_go_down(tok):
    documents = [tok.encode_batch(["the animal didn't cross the street", text]) for text in TEXTS * 12]
    baselines = NeighbourBaselines(documents, tok.vocab_size, tok.all_special_ids)
    uniform, unigram, bigram = masked_baselines(documents, tok, baselines, Masking(), pairs=20)
    assert uniform.loss == pytest.approx(math.log(tok.vocab_size), abs=1e-5)
    assert uniform.loss > unigram.loss > bigram.loss
    assert bigram.top1 > unigram.top1


def test_heads_panel_and_what_stands_in_without_a_kernel(model, tok):
    maps = attention_maps(model, tok, TEXTS[1])
    bundle = panels.heads_panel(maps, maps, layer=1)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "Run this cell" in bundle["text/html"] and "0x" not in bundle["text/plain"]
    filled = panels.fill_panel(model, tok, "my dog is [MASK]")._repr_mimebundle_()
    assert "<table>" in filled["text/html"]
