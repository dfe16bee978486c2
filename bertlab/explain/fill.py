"""What the model would write in each masked place."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.explain.text import encode


@dataclass(frozen=True)
class Fill:
    """The `k` likeliest tokens at one position, likeliest first.

    `entropy` is that of the whole distribution over the vocabulary, in nats: 0 when the model is sure.
    """

    position: int
    tokens: list[str]
    probabilities: list[float]
    entropy: float


def fill_mask(model, tokenizer, text: str, pair: str | None = None, k: int = 10) -> list[Fill]:
    """Fill in each [MASK] of a text or pair; text beyond the model's length is left out.

    Raises InputError when the text is empty or holds no [MASK], and for a model that reads from left to right.
    """
    refuse_left_to_right(model)
    encoded = encode(tokenizer, text, pair, model.config.max_position_embeddings)
    positions = (encoded.input_ids == tokenizer.mask_token_id).nonzero()[:, 0].tolist()  # (S,) -> M
    if not positions:
        raise InputError("the text holds no [MASK]: write [MASK] in place of a word")
    return fill_positions(model, tokenizer, encoded.batch, positions, k)


def refuse_left_to_right(model) -> None:
    """InputError for a model that has no use for [MASK]."""
    if model.config.is_decoder:
        raise InputError("this model reads from left to right: it continues texts and has never met [MASK]")


def fill_positions(model, tokenizer, batch: dict[str, Tensor], positions: Sequence[int], k: int) -> list[Fill]:
    """The model's distribution over tokens at each of `positions` of a one-row batch (1, S)."""
    log_probabilities = position_log_probabilities(model, batch, positions)  # (M, V)
    entropy = -(log_probabilities.exp() * log_probabilities).sum(-1)  # (M, V) -> (M,)
    best = log_probabilities.exp().topk(min(k, log_probabilities.shape[-1]), dim=-1)  # (M, k)
    return [
        Fill(position, tokenizer.convert_ids_to_tokens(ids), values, float(h))
        for position, ids, values, h in zip(
            positions, best.indices.tolist(), best.values.tolist(), entropy, strict=True
        )
    ]


@torch.inference_mode()
def position_log_probabilities(model, batch: dict[str, Tensor], positions: Sequence[int]) -> Tensor:
    """(M, V) log-probabilities of every vocabulary entry at M positions of a one-row batch."""
    return position_logits(model, batch, list(positions))[0].float().log_softmax(-1)  # (1, M, V) -> (M, V)


def position_logits(model, batch: dict[str, Tensor], positions: int | list[int]) -> Tensor:
    """(B, V) scores of the vocabulary at one position of each row, or (B, M, V) at M of them; at no others, which
    would be most of the work."""
    return model.mlm(model.bert(**batch).last_hidden_state[:, positions])  # (B, S, H) -> (B, M, H) -mlm-> (B, M, V)
