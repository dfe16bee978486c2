"""What the tests of training learn from."""

import pytest


@pytest.fixture(scope="session")
def documents(texts, tok) -> list[list[list[int]]]:
    """The text as token ids."""
    return [tok.encode_batch(list(sentences)) for sentences in texts]
