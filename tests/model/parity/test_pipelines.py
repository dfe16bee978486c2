"""What save_pretrained writes opens in the pipelines and Auto classes of transformers, with the same predictions."""

import pytest
import torch

from bertlab import (
    BertConfig,
    BertForMultipleChoice,
    BertForQuestionAnswering,
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


def test_token_classification(saved, tokenizer):
    model, folder = saved(BertForTokenClassification, id2label={0: "O", 1: "B-ANIMAL", 2: "I-ANIMAL"})
    theirs = transformers.pipeline("token-classification", folder, device="cpu", ignore_labels=[])
    batch = tokenizer(TEXTS)
    shares, ids = model(**batch).logits.softmax(-1), batch["input_ids"]
    special = tokenizer.special_mask(ids)
    for row, said in enumerate(theirs(TEXTS)):
        best, label = shares[row][~special[row]].max(-1)
        assert [one["entity"] for one in said] == [model.config.id2label[n] for n in label.tolist()]
        assert [one["score"] for one in said] == pytest.approx(best.tolist(), abs=1e-5)
        assert [one["word"] for one in said] == tokenizer.convert_ids_to_tokens(ids[row][~special[row]])


def test_question_answering(saved, tokenizer):
    """transformers 5 has no pipeline for it any more; the model and the tokenizer by themselves are what is left."""
    model, folder = saved(BertForQuestionAnswering)
    theirs = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    encode = transformers.AutoTokenizer.from_pretrained(folder)
    questions = ["who is hairy", "what are penguins", "who bought milk"]
    ours = model(**tokenizer(questions, TEXTS))
    reference = theirs(**encode(questions, TEXTS, padding=True, return_tensors="pt"))
    for name in ("start_logits", "end_logits"):
        torch.testing.assert_close(getattr(ours, name), reference[name], rtol=0, atol=1e-4)


def test_multiple_choice(saved, tokenizer):
    model, folder = saved(BertForMultipleChoice)
    theirs = transformers.AutoModelForMultipleChoice.from_pretrained(folder).eval()
    encode = transformers.AutoTokenizer.from_pretrained(folder)
    starts = [TEXTS[0]] * 2 + [TEXTS[1]] * 2
    ends = ["he likes walks", "milk", "the store", "birds"]
    ours, reference = tokenizer(starts, ends), encode(starts, ends, padding=True, return_tensors="pt")
    # (4, S) -> (2, 2, S)
    logits = model(
        **{n: ours[n].unflatten(0, (2, 2)) for n in ("input_ids", "attention_mask", "token_type_ids")}
    ).logits
    wanted = theirs(**{name: tensor.unflatten(0, (2, 2)) for name, tensor in reference.items()}).logits
    torch.testing.assert_close(logits, wanted, rtol=0, atol=1e-4)


def test_a_crf_gives_transformers_its_emissions(saved, tokenizer):
    """All that transformers cannot know is how the CRF chooses."""
    model, folder = saved(BertForTokenClassification, num_labels=3, token_decoder="crf")
    theirs = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    batch = tokenizer(TEXTS)
    torch.testing.assert_close(model(**batch).logits, theirs(**batch).logits, rtol=0, atol=1e-4)
