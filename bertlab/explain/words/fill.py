"""What the model would write in each masked place."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.explain.text import encode, longest


@dataclass(frozen=True)
class Fill:
    """The `k` likeliest tokens at one position, likeliest first.

    `entropy` is that of the whole distribution over the vocabulary, in nats: 0 when the model is sure.
    """

    position: int
    tokens: list[str]
    probabilities: list[float]
    entropy: float


def fill_mask(
    model,
    tokenizer,
    text: str,
    pair: str | None = None,
    k: int = 10,
    masked: Sequence[int] = (),
    limit: int | None = None,
) -> list[Fill]:
    """Fill in each [MASK] of a text or pair, and each of the positions `masked`, whose tokens are hidden first.

    Text beyond `limit` tokens or the model's length is left out. Raises InputError when the text is empty or nothing
    in it is masked, and for a model that reads from left to right.
    """
    batch, positions = masked_row(model, tokenizer, text, pair, masked, limit)
    return fill_positions(model, tokenizer, batch, positions, k)


def masked_row(
    model, tokenizer, text: str, pair: str | None = None, masked: Sequence[int] = (), limit: int | None = None
) -> tuple[dict[str, Tensor], list[int]]:
    """A text or pair as a row (1, S) with the positions `masked` hidden, and where it is masked, typed [MASK]s too.

    Raises InputError as fill_mask does, and for a position where there is no token.
    """
    refuse_left_to_right(model)
    encoded = encode(tokenizer, text, pair, longest(model, limit))
    count = len(encoded.tokens)
    if not all(0 <= place < count for place in masked):
        raise InputError(f"masked={list(masked)}: the text has the positions 0 to {count - 1}")
    ids = encoded.batch["input_ids"].clone()  # (1, S)
    ids[0, list(masked)] = tokenizer.mask_token_id
    positions = (ids[0] == tokenizer.mask_token_id).nonzero()[:, 0].tolist()  # (S,) -> M
    if not positions:
        raise InputError("the text holds no [MASK]: write [MASK] in place of a word")
    return encoded.batch | {"input_ids": ids}, positions


def refuse_left_to_right(model) -> None:
    """InputError for a model that has no use for [MASK]."""
    if model.config.is_decoder:
        raise InputError("this model reads from left to right: it continues texts and has never met [MASK]")


def fill_positions(model, tokenizer, batch: dict[str, Tensor], positions: Sequence[int], k: int) -> list[Fill]:
    """The model's distribution over tokens at each of `positions` of a one-row batch (1, S)."""
    return likeliest(tokenizer, position_log_probabilities(model, batch, positions), positions, k)


def likeliest(tokenizer, log_probabilities: Tensor, positions: Sequence[int], k: int) -> list[Fill]:
    """The Fill of each row of log-probabilities (M, V), which belong to M positions."""
    entropy = -(log_probabilities.exp() * log_probabilities).sum(-1)  # (M, V) -> (M,)
    best = log_probabilities.exp().topk(min(k, log_probabilities.shape[-1]), dim=-1)  # (M, k)
    return [
        Fill(position, tokenizer.convert_ids_to_tokens(ids), values, h)
        for position, ids, values, h in zip(
            positions, best.indices.tolist(), best.values.tolist(), entropy.tolist(), strict=True
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
