"""A tokenizer of a few words and small random models for it."""

import pytest
import torch

from bertlab import (
    BertConfig,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    Tokenizer,
)

TEXTS = [
    "the animal didn't cross the street because it was too tired.",
    "the man went to the store. he bought a gallon of milk.",
    "my dog is hairy. he likes walks. penguins are flightless birds.",
] * 3


@pytest.fixture(scope="session")
def tok() -> Tokenizer:
    return Tokenizer.train(TEXTS, vocab_size=120)


def small(kind, tok, seed=0, **options):
    sizes = dict(hidden_size=24, num_hidden_layers=3, num_attention_heads=4, intermediate_size=40)
    config = BertConfig(
        vocab_size=tok.vocab_size, max_position_embeddings=48, initializer_range=0.3, **sizes, **options
    )
    torch.manual_seed(seed)
    return kind(config).eval()


@pytest.fixture(scope="session")
def model(tok):
    return small(BertForPreTraining, tok)


@pytest.fixture(scope="session")
def left_to_right(tok):
    """A model that predicts the next word."""
    return small(BertForPreTraining, tok, is_decoder=True)


@pytest.fixture(scope="session")
def reader(tok):
    """A question-answering model."""
    return small(BertForQuestionAnswering, tok)


@pytest.fixture(scope="session")
def classifier(tok):
    """A model of three classes for texts."""
    return small(BertForSequenceClassification, tok, id2label=dict(enumerate(["bad", "mixed", "good"])))


@pytest.fixture(scope="session")
def tagger(tok):
    """A model that labels words."""
    return small(BertForTokenClassification, tok, id2label=dict(enumerate(["O", "B-pet", "I-pet"])))
