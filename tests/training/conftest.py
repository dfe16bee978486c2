"""A small text, its vocabulary, and recipes that train in a second."""

from dataclasses import replace

import pytest

from bertlab import Tokenizer
from bertlab.corpora import storyworld
from bertlab.training.optim import Optimization
from bertlab.training.recipes import FinetuneRecipe, PretrainRecipe


@pytest.fixture(scope="session")
def texts() -> list[tuple[str, ...]]:
    return [document.sentences for document in storyworld.documents(0, 30)]


@pytest.fixture(scope="session")
def tok(texts) -> Tokenizer:
    return Tokenizer.train([sentence for sentences in texts for sentence in sentences], vocab_size=300)


@pytest.fixture(scope="session")
def documents(texts, tok) -> list[list[list[int]]]:
    """The text as token ids."""
    return [tok.encode_batch(list(sentences)) for sentences in texts]


SMALL = PretrainRecipe(
    name="small",
    documents=30,
    vocab_size=300,
    num_hidden_layers=1,
    hidden_size=16,
    num_attention_heads=2,
    max_position_embeddings=64,
    max_tokens=48,
    batch_size=4,
    steps=5,
    optim=Optimization(learning_rate=1e-3),
)


@pytest.fixture
def recipe() -> PretrainRecipe:
    """Five steps of one narrow layer."""
    return SMALL


@pytest.fixture(scope="session")
def pretrained(tok, tmp_path_factory) -> str:
    """The folder of an untrained model of positions enough for questions."""
    from bertlab.training.start import new_model

    folder = tmp_path_factory.mktemp("models") / "untrained"
    new_model(replace(SMALL, max_position_embeddings=256, seed=8), tok).save_pretrained(folder, tok)
    return str(folder)


@pytest.fixture
def qa_recipe(pretrained) -> FinetuneRecipe:
    return FinetuneRecipe(
        model=pretrained, examples=12, max_length=256, batch_size=4, steps=3, optim=Optimization(learning_rate=1e-3)
    )
