"""What the model would write at each masked position."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.explain.text import clean, encode, longest
from bertlab.model import BertForMaskedLM, BertForPreTraining
from bertlab.model.base import beside
from bertlab.tokenizer import Tokenizer

MaskedLM = BertForMaskedLM | BertForPreTraining


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
    model: MaskedLM,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None = None,
    k: int = 10,
    masked: Sequence[int] = (),
    limit: int | None = None,
) -> list[Fill]:
    """Return a Fill for each [MASK] of a text or pair and for each of the positions `masked`, which are masked first.

    Text beyond `limit` tokens or the model's length is left out. Raises InputError when the text is empty or nothing
    in it is masked, and for a left-to-right model.
    """
    batch, positions = masked_row(model, tokenizer, text, pair, masked, limit)
    return fill_positions(model, tokenizer, batch, positions, k)


def masked_row(
    model: MaskedLM,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None = None,
    masked: Sequence[int] = (),
    limit: int | None = None,
) -> tuple[dict[str, Tensor], list[int]]:
    """Return a text or pair as a row (1, S) with [MASK] at `masked`, and all its masked positions, typed ones too.

    Raises InputError as fill_mask does, and for a position without a token.
    """
    refuse_left_to_right(model)
    encoded = encode(tokenizer, text, pair, longest(model, limit))
    count = len(encoded.tokens)
    if not all(0 <= position < count for position in masked):
        raise InputError(f"masked={list(masked)}: the text has the positions 0 to {count - 1}")
    ids = encoded.batch["input_ids"].clone()  # (1, S)
    ids[0, list(masked)] = tokenizer.mask_token_id
    positions = (ids[0] == tokenizer.mask_token_id).nonzero()[:, 0].tolist()  # (S,) -> M
    if not positions:
        if typed_masks(text, pair):
            raise InputError(f"no [MASK] is among the {count} tokens that are read: shorten the text before it")
        raise InputError("the text holds no [MASK]: write [MASK] in place of a word")
    return encoded.batch | {"input_ids": ids}, positions


def nth(positions: Sequence[int], gap: int) -> int:
    """Return masked position number `gap`, counted from 0. Raises InputError if the text was cut off before it."""
    if gap >= len(positions):
        raise InputError(f"gap {gap + 1} is beyond what the model reads: shorten the text before it")
    return positions[gap]


def typed_masks(text: str, pair: str | None = None) -> int:
    """Return how many [MASK] a text or pair holds, those beyond the model's length too."""
    return sum(clean(part).count("[MASK]") for part in (text, pair or ""))


def refuse_left_to_right(model: MaskedLM) -> None:
    """Raise InputError for a left-to-right (causal) language model, which has no use for [MASK]."""
    if model.config.is_decoder:
        raise InputError("this is a left-to-right model: it continues texts and has never seen [MASK]. Choose a BERT")


def fill_positions(
    model: MaskedLM, tokenizer: Tokenizer, batch: dict[str, Tensor], positions: Sequence[int], k: int
) -> list[Fill]:
    """Return the `k` likeliest tokens at each of `positions` of a one-row batch (1, S)."""
    return likeliest(tokenizer, position_log_probabilities(model, tokenizer, batch, positions), positions, k)


def likeliest(tokenizer: Tokenizer, log_probabilities: Tensor, positions: Sequence[int], k: int) -> list[Fill]:
    """Return the Fill of each row of log-probabilities (M, V) at M positions."""
    entropy = -(log_probabilities.exp() * log_probabilities).sum(-1)  # (M, V) -> (M,)
    best = log_probabilities.exp().topk(min(k, log_probabilities.shape[-1]), dim=-1)  # (M, k)
    return [
        Fill(position, tokenizer.convert_ids_to_tokens(ids), values, h)
        for position, ids, values, h in zip(
            positions, best.indices.tolist(), best.values.tolist(), entropy.tolist(), strict=True
        )
    ]


@torch.inference_mode()
def position_log_probabilities(
    model: MaskedLM, tokenizer: Tokenizer, batch: dict[str, Tensor], positions: Sequence[int]
) -> Tensor:
    """Return the log-probabilities (M, V) of the whole vocabulary at M positions of a one-row batch."""
    logits = position_logits(model, beside(model, batch), list(positions))
    return log_probabilities_of(tokenizer, logits[0].cpu())  # (1, M, V) -> (M, V)


def log_probabilities_of(tokenizer: Tokenizer, logits: Tensor) -> Tensor:
    """Return the log-probabilities (M, V) of the tokenizer's V tokens from logits (M, W).

    A published model may fill up its embeddings to a round number W: what is beyond V has a share, but is no token.
    """
    return logits.float().log_softmax(-1)[:, : tokenizer.vocab_size]


def position_logits(model: MaskedLM, batch: dict[str, Tensor], positions: int | list[int]) -> Tensor:
    """Return the logits (B, V) at one position of each row, or (B, M, V) at M of them.

    The head is not applied at other positions, which would be most of the work.
    """
    return model.mlm(model.bert(**batch).last_hidden_state[:, positions])  # (B, S, H) -> (B, M, H) -mlm-> (B, M, V)
