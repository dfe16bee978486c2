import pytest
import torch

from bertlab import BertConfig, BertForPreTraining, Tokenizer
from bertlab.corpora.minimal_pairs import PHENOMENA, MinimalPair
from bertlab.evaluation import grammar
from bertlab.evaluation.baselines import NeighbourBaselines
from bertlab.training.batches import token_ids

TEXTS = ["The boy sees the old dog.", "No.", "The girls see the dogs near the house."]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS * 3, 90)


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    return BertForPreTraining(BertConfig(vocab_size=tokenizer.vocab_size, **sizes, initializer_range=0.5)).eval()


@torch.inference_mode()
def slow_likelihood(model, tokenizer, text: str) -> float:
    """One forward pass for each token."""
    ids = tokenizer([text])["input_ids"]
    total = 0.0
    for position in range(1, ids.shape[1] - 1):
        hidden = ids.clone()
        hidden[0, position] = tokenizer.mask_token_id
        total += float(model(hidden).prediction_logits[0, position].log_softmax(-1)[ids[0, position]])
    return total


def test_likelihoods_are_those_of_a_slow_loop(model, tokenizer, monkeypatch):
    monkeypatch.setattr(grammar, "ROWS", 4)  # several batches, cut within a sentence
    found = grammar.pseudo_log_likelihoods(model, tokenizer, TEXTS)
    assert found.tolist() == pytest.approx([slow_likelihood(model, tokenizer, text) for text in TEXTS], rel=1e-5)


def test_an_unknown_word_counts_as_any_other_token(model, tokenizer):
    text = "The boy sees the ☃."
    assert tokenizer.unk_token_id in tokenizer([text])["input_ids"]
    assert grammar.pseudo_log_likelihoods(model, tokenizer, [text]).tolist() == pytest.approx(
        [slow_likelihood(model, tokenizer, text)], rel=1e-5
    )


def test_baselines_are_those_of_a_slow_loop(tokenizer, monkeypatch):
    monkeypatch.setattr(grammar, "ROWS", 4)
    documents = token_ids([TEXTS], tokenizer)
    baselines = NeighbourBaselines(documents, tokenizer.vocab_size, tokenizer.all_special_ids)
    frequency = [sum(float(baselines.unigram[token].log()) for token in sentence) for sentence in documents[0]]
    assert grammar.unigram_scores(baselines, tokenizer, TEXTS).tolist() == pytest.approx(frequency, rel=1e-5)
    neighbours = []
    for sentence in documents[0]:
        padded = [tokenizer.cls_token_id, *sentence, tokenizer.sep_token_id]
        around = zip(padded, padded[1:], padded[2:], strict=False)
        neighbours.append(
            sum(
                float(baselines.bigram_log_probabilities(torch.tensor([before]), torch.tensor([after]))[0, token])
                for before, token, after in around
            )
        )
    assert grammar.bigram_scores(baselines, tokenizer, TEXTS).tolist() == pytest.approx(neighbours, rel=1e-5)


def test_right_pairs_are_counted_and_a_draw_is_half():
    pairs = [MinimalPair("x", good, bad) for good, bad in (("aa", "a"), ("b", "bb"), ("c", "d"), ("eee", "e"))]
    assert grammar.share_right(lambda texts: torch.tensor([float(len(t)) for t in texts]), pairs) == 2.5 / 4


def test_all_phenomena_are_measured_beside_both_baselines(model, tokenizer):
    baselines = NeighbourBaselines(token_ids([TEXTS], tokenizer), tokenizer.vocab_size, tokenizer.all_special_ids)
    figures = grammar.measure_grammar(model, tokenizer, baselines, pairs=5)
    for name in ("grammar", "unigram_grammar", "bigram_grammar"):
        each = [figures[f"{name}_{phenomenon}"] for phenomenon in PHENOMENA]
        assert figures[name] == pytest.approx(sum(each) / len(each))
