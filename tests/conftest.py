"""What several tests share: small models, batches with padding, and their twins in transformers."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may reach a hub

import pytest
import torch

from bertlab import BertConfig, BertForPreTraining

SMALL = dict(
    vocab_size=61,
    hidden_size=24,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=40,
    max_position_embeddings=16,
    initializer_range=0.3,  # large, so that attention is far from uniform
)


@pytest.fixture
def config() -> BertConfig:
    """A BERT of a few thousand parameters."""
    return BertConfig(**SMALL)


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    """Three rows (3, 9): full, padded, and a pair; segments change at the fifth token."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([9, 4, 7])
    real = torch.arange(9) < lengths[:, None]  # (3, 9)
    segments = (torch.arange(9) > 4).long().expand(3, 9) * torch.tensor([[1], [0], [1]])
    ids = torch.randint(5, 61, (3, 9), generator=generator)
    return {"input_ids": ids * real, "attention_mask": real.long(), "token_type_ids": segments * real}


@pytest.fixture
def checkpoint(config, tmp_path):
    """A folder with a random pretraining checkpoint."""
    torch.manual_seed(0)
    folder = tmp_path / "checkpoint"
    BertForPreTraining(config).save_pretrained(folder)
    return folder
