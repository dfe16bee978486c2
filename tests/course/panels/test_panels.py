"""Panels and baselines, on a small random model."""

import math

import pytest
import torch

from bertlab import BertConfig, BertForPreTraining, BertForQuestionAnswering, Tokenizer
from bertlab.course import masked_baselines, panels
from bertlab.evaluation.baselines import NeighbourBaselines
from bertlab.explain.attention.maps import attention_maps
from bertlab.inputs.masking import Masking

TEXTS = ["the animal didn't cross the street because it was too tired.", "my dog is hairy. he likes walks."] * 3
SIZES = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40)


@pytest.fixture(scope="module")
def tok():
    return Tokenizer.train(TEXTS, vocab_size=110)


def small(kind, tok):
    torch.manual_seed(0)
    return kind(BertConfig(vocab_size=tok.vocab_size, max_position_embeddings=48, **SIZES)).eval()


def test_fill_panel_follows_its_controls(tok):
    box = panels.fill_panel(small(BertForPreTraining, tok), tok, "my dog is [MASK]")
    text, count, result = box.children
    assert result.value.count("<tr>") == 5
    count.value = 7
    assert result.value.count("<tr>") == 7
    text.value = "no gap <b>"
    assert "holds no [MASK]" in result.value


def test_question_panel_answers(tok):
    box = panels.question_panel(small(BertForQuestionAnswering, tok), tok, "who likes walks?", TEXTS[1])
    question, _, result = box.children
    assert "passage" in result.value
    question.value = ""
    assert "the question is empty" in result.value


def test_baselines_go_down(tok):
    documents = [tok.encode_batch(["the animal didn't cross the street", text]) for text in TEXTS * 4]
    baselines = NeighbourBaselines(documents, tok.vocab_size, tok.all_special_ids)
    uniform, unigram, bigram = masked_baselines(documents, tok, baselines, Masking(), pairs=20)
    assert uniform.loss == pytest.approx(math.log(tok.vocab_size), abs=1e-5)
    assert uniform.loss > unigram.loss > bigram.loss
    assert bigram.top1 > unigram.top1


def test_heads_panel_and_what_stands_in_without_a_kernel(tok):
    model = small(BertForPreTraining, tok)
    maps = attention_maps(model, tok, TEXTS[1])
    bundle = panels.heads_panel(maps, maps, layer=1)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "Run this cell" in bundle["text/html"] and "0x" not in bundle["text/plain"]
    filled = panels.fill_panel(model, tok, "my dog is [MASK]")._repr_mimebundle_()
    assert "<table>" in filled["text/html"]
