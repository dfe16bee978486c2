"""How surprising each token of a text is when it alone is masked, and the text's pseudo-log-likelihood."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.explain.text import encode, longest
from bertlab.explain.words.fill import Fill, MaskedLM, likeliest, log_probabilities_of, refuse_left_to_right
from bertlab.tokenizer import Tokenizer

TOKENS = 512  # in one batch


@dataclass(frozen=True)
class Surprisal:
    """`surprisal` is -ln p(token), in nats, and `rank` 1 where the token is the likeliest; `fill` holds the guesses."""

    position: int
    token: str
    surprisal: float
    rank: int
    fill: Fill


def sweep(
    model: MaskedLM, tokenizer: Tokenizer, text: str, pair: str | None = None, k: int = 5, limit: int | None = None
) -> Iterator[Surprisal]:
    """Mask each token of a text or pair in turn, with the others in sight, and yield its surprisal: one row a token.

    [CLS], [SEP] and a typed [MASK] have no row. [UNK] has one, though pretraining never masks it: left out, it would
    make a text likelier. Text beyond `limit` tokens or the model's length is left out. Raises InputError when the text
    is empty or no token can be masked, and for a left-to-right model.
    """
    refuse_left_to_right(model)
    batch = encode(tokenizer, text, pair, longest(model, limit)).batch
    positions = maskable_positions(tokenizer, batch["input_ids"][0])
    if not positions:
        raise InputError("this text has no token that can be masked: write a word")
    at_once = max(1, TOKENS // batch["input_ids"].size(1))
    for start in range(0, len(positions), at_once):
        yield from _surprisals(model, tokenizer, batch, positions[start : start + at_once], k)


def maskable_positions(tokenizer: Tokenizer, input_ids: Tensor) -> list[int]:
    """Return the positions of `input_ids` (S,) that `sweep` masks, in order."""
    return counted(tokenizer, input_ids).nonzero()[:, 0].tolist()  # (S,) -> M


def counted(tokenizer: Tokenizer, input_ids: Tensor) -> Tensor:
    """Return where a token counts in a pseudo-log-likelihood, all but [CLS], [SEP], [PAD] and a typed [MASK]: bool of
    the same shape."""
    return ~tokenizer.special_mask(input_ids) | (input_ids == tokenizer.unk_token_id)


def pseudo_log_likelihood(rows: Sequence[Surprisal]) -> float:
    """Return the sum of ln p(token) over the rows of a sweep, in nats (Salazar et al. 2020, equation 2)."""
    return -math.fsum(row.surprisal for row in rows)


def pseudo_perplexity(rows: Sequence[Surprisal]) -> float:
    """Return exp of the mean surprisal: the number of equally likely tokens that would be as hard to choose from."""
    return math.exp(-pseudo_log_likelihood(rows) / len(rows))


def _surprisals(
    model: MaskedLM, tokenizer: Tokenizer, batch: dict[str, Tensor], positions: list[int], k: int
) -> list[Surprisal]:
    ids = batch["input_ids"][0]  # (1, S) -> (S,)
    truths = ids[positions]  # (M,)
    log_p = _masked_log_probabilities(model, tokenizer, batch, positions)  # (M, V)
    found = log_p.gather(1, truths[:, None])  # (M, V) -> (M, 1)
    ranks = (log_p > found).sum(-1) + 1  # (M, V) -> (M,)
    tokens = tokenizer.convert_ids_to_tokens(truths)
    fills = likeliest(tokenizer, log_p, positions, k)
    columns = (positions, tokens, (-found[:, 0]).tolist(), ranks.tolist(), fills)
    return [Surprisal(*row) for row in zip(*columns, strict=True)]


@torch.inference_mode()
def _masked_log_probabilities(
    model: MaskedLM, tokenizer: Tokenizer, batch: dict[str, Tensor], positions: list[int]
) -> Tensor:
    """(M, V): row m is the head's prediction at position m when that alone is masked in the row (1, S)."""
    rows = {name: tensor.repeat(len(positions), 1) for name, tensor in batch.items()}  # (1, S) -> (M, S)
    each = torch.arange(len(positions))
    rows["input_ids"][each, positions] = tokenizer.mask_token_id
    states = model.bert(**rows).last_hidden_state  # (M, S, H)
    return log_probabilities_of(tokenizer, model.mlm(states[each, positions]))  # (M, S, H) -> (M, H) -> (M, V)
