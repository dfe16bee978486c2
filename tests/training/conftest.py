"""Recipes that train in a second, and what they learn from."""

import pytest

from bertlab.training.optim import Optimization
from bertlab.training.recipes import FinetuneRecipe


@pytest.fixture(scope="session")
def documents(texts, tok) -> list[list[list[int]]]:
    """The text as token ids."""
    return [tok.encode_batch(list(sentences)) for sentences in texts]


@pytest.fixture
def qa_recipe(pretrained) -> FinetuneRecipe:
    return FinetuneRecipe(
        model=pretrained, examples=12, max_length=256, batch_size=4, steps=3, optim=Optimization(learning_rate=1e-3)
    )
