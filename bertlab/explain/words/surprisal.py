"""How surprising each token of a text is when it alone is masked, and the text's pseudo-log-likelihood."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.explain.text import encode, longest
from bertlab.explain.words.fill import Fill, likeliest, refuse_left_to_right

TOKENS = 512  # in all rows that are computed at once


@dataclass(frozen=True)
class Surprisal:
    """`surprisal` is -ln p(token), in nats, and `rank` 1 where the token is the likeliest; `fill` holds the guesses."""

    position: int
    token: str
    surprisal: float
    rank: int
    fill: Fill


def sweep(
    model, tokenizer, text: str, pair: str | None = None, k: int = 5, limit: int | None = None
) -> Iterator[Surprisal]:
    """Mask each token of a text or pair in turn, the others in sight, and judge the guess: one row a token.

    Tokens that pretraining never hides ([CLS], [SEP], [UNK], a typed [MASK]) have no row. Text beyond `limit` tokens
    or the model's length is left out. Raises InputError when the text is empty or no token can be masked, and for a
    model that reads from left to right.
    """
    refuse_left_to_right(model)
    batch = encode(tokenizer, text, pair, longest(model, limit)).batch
    places = scored_places(tokenizer, batch["input_ids"][0])
    if not places:
        raise InputError("no token of this text can be masked and judged: write a word that the model knows")
    at_once = max(1, TOKENS // batch["input_ids"].size(1))
    for start in range(0, len(places), at_once):
        yield from _judged(model, tokenizer, batch, places[start : start + at_once], k)


def scored_places(tokenizer, input_ids: Tensor) -> list[int]:
    """The positions of `input_ids` (S,) that `sweep` masks, in order."""
    return (~tokenizer.special_mask(input_ids)).nonzero()[:, 0].tolist()  # (S,) -> M


def pseudo_log_likelihood(rows: Sequence[Surprisal]) -> float:
    """The sum of ln p(token) over the rows of a sweep, in nats (Salazar et al. 2020, equation 2)."""
    return -math.fsum(row.surprisal for row in rows)


def pseudo_perplexity(rows: Sequence[Surprisal]) -> float:
    """exp of the mean surprisal: among how many equally likely tokens the model chooses at a place on average."""
    return math.exp(-pseudo_log_likelihood(rows) / len(rows))


def _judged(model, tokenizer, batch: dict[str, Tensor], places: list[int], k: int) -> list[Surprisal]:
    ids = batch["input_ids"][0]  # (1, S) -> (S,)
    truths = ids[places]  # (M,)
    log_p = _masked_log_probabilities(model, batch, places, tokenizer.mask_token_id)  # (M, V)
    found = log_p.gather(1, truths[:, None])  # (M, V) -> (M, 1)
    ranks = (log_p > found).sum(-1) + 1  # (M, V) -> (M,)
    tokens = tokenizer.convert_ids_to_tokens(truths)
    fills = likeliest(tokenizer, log_p, places, k)
    columns = (places, tokens, (-found[:, 0]).tolist(), ranks.tolist(), fills)
    return [Surprisal(*row) for row in zip(*columns, strict=True)]


@torch.inference_mode()
def _masked_log_probabilities(model, batch: dict[str, Tensor], places: list[int], mask_id: int) -> Tensor:
    """(M, V): row m is the head's view of place m when that alone is masked in the row (1, S)."""
    rows = {name: tensor.repeat(len(places), 1) for name, tensor in batch.items()}  # (1, S) -> (M, S)
    each = torch.arange(len(places))
    rows["input_ids"][each, places] = mask_id
    states = model.bert(**rows).last_hidden_state  # (M, S, H)
    return model.mlm(states[each, places]).float().log_softmax(-1)  # (M, S, H) -> (M, H) -> (M, V)
