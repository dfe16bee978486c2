"""A tokenizer of a few words, and small random models for it."""

import pytest
import torch

from bertlab import BertConfig, BertForPreTraining, BertForQuestionAnswering, Tokenizer

TEXTS = ["the animal didn't cross the street because it was too tired.", "my dog is hairy. he likes walks."]
QUESTION = "who likes walks?"


@pytest.fixture(scope="session")
def tok() -> Tokenizer:
    return Tokenizer.train([*TEXTS, QUESTION] * 3, vocab_size=110)


def small(kind, tok: Tokenizer):
    sizes = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40)
    torch.manual_seed(0)
    return kind(BertConfig(vocab_size=tok.vocab_size, max_position_embeddings=48, **sizes)).eval()


@pytest.fixture(scope="session")
def model(tok) -> BertForPreTraining:
    return small(BertForPreTraining, tok)


@pytest.fixture(scope="session")
def reader(tok) -> BertForQuestionAnswering:
    """A model that answers questions."""
    return small(BertForQuestionAnswering, tok)
