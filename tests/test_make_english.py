"""The scripts that make the bundled models of real English."""

import runpy
from pathlib import Path

import pytest
import torch

from bertlab import BertConfig, BertForPreTraining, BertModel, Tokenizer
from bertlab.config import IGNORED
from bertlab.corpora.examples import QAExample, TokenExample
from bertlab.errors import InputError
from bertlab.training.engine.micro_batches import WHOLE

MAKE = Path(__file__).parents[1] / "data" / "make"
ENGLISH = runpy.run_path(str(MAKE / "english.py"))


@pytest.fixture
def tokenizer():
    return Tokenizer.from_pretrained("storyworld-tiny")


@pytest.fixture
def batch(tokenizer):
    batch = tokenizer([f"the dog is in house {number}" for number in range(8)])
    labels = torch.full_like(batch["input_ids"], IGNORED)
    labels[:, 2] = batch["input_ids"][:, 2]
    batch["input_ids"][:, 2] = tokenizer.mask_token_id
    return batch | {"labels": labels}


def test_other_weights_than_the_published_ones_are_refused(tmp_path):
    config = BertConfig(vocab_size=40, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    BertModel(config).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"has SHA-256 [0-9a-f]{64}, which is not the published 53aa5117"):
        ENGLISH["published"](str(tmp_path), tmp_path)


def test_one_text_in_eight_is_read_whole(batch, tokenizer):
    more = ENGLISH["with_whole_texts"](batch, tokenizer)
    assert more["input_ids"].shape[0] == 9 and all(len(rows) == 9 for rows in more.values())
    first = batch["labels"][0]
    assert (more["input_ids"][8] == batch["input_ids"][0].where(first == IGNORED, first)).all()
    assert (more["labels"][8] == IGNORED).all() and (more["labels"][:8] == batch["labels"]).all()


def test_the_loss_counts_how_far_the_vectors_of_whole_texts_have_moved(batch, tokenizer):
    torch.manual_seed(0)
    config = BertConfig(vocab_size=tokenizer.vocab_size, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    model, other = BertForPreTraining(config).eval(), BertModel(config).eval()
    more = ENGLISH["with_whole_texts"](batch, tokenizer)
    loss, watched = ENGLISH["both_losses"](model, more, WHOLE, start=model.bert)
    assert watched["moved"].abs() < 1e-6 and torch.allclose(loss, watched["mlm_loss"], atol=1e-5)
    loss, watched = ENGLISH["both_losses"](model, more, WHOLE, start=other)
    assert watched["moved"] > 0.1
    assert torch.allclose(loss, watched["mlm_loss"] + ENGLISH["MEANING"] * watched["moved"])
    loss.backward()
    assert model.bert.embeddings.word.weight.grad.abs().sum() > 0 and other.embeddings.word.weight.grad is None


def test_the_kinds_of_tweets_become_three(monkeypatch):
    monkeypatch.syspath_prepend(str(MAKE.parents[1]))
    three_kinds = runpy.run_path(str(MAKE / "siblings.py"))["three_kinds"]
    example = TokenExample(
        "1",
        ("Ann", "Lee", "at", "Acme", "saw", "Jaws"),
        ("B-person", "I-person", "O", "B-corporation", "O", "B-creative-work"),
    )
    assert three_kinds(example).labels == ("B-PER", "I-PER", "O", "B-ORG", "O", "O")


def test_a_question_without_an_answer_stands_beside_a_passage_that_lacks_it(monkeypatch):
    monkeypatch.syspath_prepend(str(MAKE.parents[1]))
    without_answer = runpy.run_path(str(MAKE / "siblings.py"))["without_answer"]
    passages = ("Ann lives in Bath.", "Bath has a river.", "Bob likes tea.")
    asked = [
        QAExample(str(n), "Where does Ann live?", text, "Bath", text.find("Bath")) for n, text in enumerate(passages)
    ]
    (found,) = without_answer(asked)
    assert found.context == passages[2] and found.is_impossible and found.id == "0-none"
