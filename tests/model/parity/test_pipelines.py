"""What save_pretrained writes opens in the pipelines and Auto classes of transformers, with the same predictions."""

import pytest
import torch

from bertlab import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    Tokenizer,
)

transformers = pytest.importorskip("transformers")

TEXTS = ["my dog is hairy", "penguins are flightless birds", "the man went to the store and bought milk"]
SIZES = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS * 3, vocab_size=90, min_frequency=1)


@pytest.fixture
def saved(tokenizer, tmp_path):
    """A function that gives a model of `kind`, and its folder."""

    def save(kind, **fields):
        torch.manual_seed(0)
        config = BertConfig(vocab_size=tokenizer.vocab_size, initializer_range=0.5, **SIZES, **fields)
        model = kind(config).eval()
        model.save_pretrained(tmp_path, tokenizer)
        return model, str(tmp_path)

    return save


def test_text_classification(saved, tokenizer):
    model, folder = saved(BertForSequenceClassification, id2label={0: "bad", 1: "so-so", 2: "good"})
    theirs = transformers.pipeline("text-classification", folder, device="cpu")
    shares = model(**tokenizer(TEXTS)).logits.softmax(-1)
    for said, row in zip(theirs(TEXTS, top_k=None), shares.tolist(), strict=True):
        expected = dict(zip(["bad", "so-so", "good"], row, strict=True))
        assert {one["label"]: one["score"] for one in said} == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("problem", ["regression", "multi_label_classification"])
def test_numbers_and_several_labels(problem, saved, tokenizer):
    """The function that makes scores of logits comes along with problem_type."""
    labels = 1 if problem == "regression" else 3
    model, folder = saved(BertForSequenceClassification, num_labels=labels, problem_type=problem)
    logits = model(**tokenizer(TEXTS)).logits
    scores = logits if problem == "regression" else logits.sigmoid()
    for said, row in zip(transformers.pipeline("text-classification", folder)(TEXTS, top_k=None), scores, strict=True):
        assert sorted(one["score"] for one in said) == pytest.approx(sorted(row.tolist()), abs=1e-5)


def test_a_crf_gives_transformers_its_emissions(saved, tokenizer):
    """All that transformers cannot know is how the CRF chooses."""
    model, folder = saved(BertForTokenClassification, num_labels=3, token_decoder="crf")
    theirs = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    batch = tokenizer(TEXTS)
    torch.testing.assert_close(model(**batch).logits, theirs(**batch).logits, rtol=0, atol=1e-4)
