"""What a head contributes: switch it off, and see how a prediction changes.

Michel, Levy, Neubig 2019, "Are Sixteen Heads Really Better than One?": a head is off where its output is set to zero.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bertlab.explain.text import bert_of
from bertlab.explain.words.fill import Fill, MaskedLM, fill_positions, masked_row, nth
from bertlab.inputs.features import Batch
from bertlab.model.base import PretrainedModel
from bertlab.tokenizer import Tokenizer

Score = Callable[[Any, Tensor], Tensor]  # (model, last hidden states (B, S, H)) -> (B,), a log-probability
Head = tuple[int, int]  # layer and head, both from 0


@torch.inference_mode()
def knockouts(model: PretrainedModel, batch: Batch, score: Score) -> Iterator[list[float]]:
    """Yield how much `score` of a row (1, S) changes when one head alone is off: for each layer A changes in nats.

    The layers below a head do not depend on it, so their states are computed once. The heads of a layer are rows of one
    batch. The model reads in both directions, and the row has no padding.
    """
    bert, heads = bert_of(model), model.config.num_attention_heads
    states = bert(**batch, output_hidden_states=True).hidden_states  # L+1 x (1, S, H)
    layers = list(bert.encoder.layers)
    one_off = 1 - torch.eye(heads, device=states[0].device)  # (A, A): row a keeps all heads but a
    whole = score(model, states[-1])  # (1,)
    for number, layer in enumerate(layers):
        x, _ = layer(states[number].expand(heads, -1, -1), head_mask=one_off)  # (1, S, H) -> (A, S, H)
        for above in layers[number + 1 :]:
            x, _ = above(x)
        x = x if bert.encoder.norm is None else bert.encoder.norm(x)  # the last states of a pre-norm encoder
        yield (score(model, x) - whole).tolist()


def head_mask(model: PretrainedModel, off: Sequence[Head]) -> Tensor:
    """Return a mask (L, A), 0 at the heads that are off and 1 elsewhere."""
    mask = torch.ones(model.config.num_hidden_layers, model.config.num_attention_heads)
    for layer, head in off:
        mask[layer, head] = 0
    return mask


def word_score(position: int, token_id: int) -> Score:
    """Return a Score: ln p of `token_id` at `position`."""

    def score(model: MaskedLM, hidden: Tensor) -> Tensor:
        return model.mlm(hidden[:, position]).log_softmax(-1)[:, token_id]  # (B, H) -mlm-> (B, V) -> (B,)

    return score


def fill_knockouts(
    model: MaskedLM,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None,
    masked: Sequence[int],
    gap: int,
    token: str,
    limit: int | None = None,
) -> Iterator[list[float]]:
    """Return `knockouts` for ln p of `token` at masked position number `gap` of a text or pair; see masked_row.

    Raises InputError as masked_row does, and for a token that is not in the vocabulary.
    """
    batch, gaps = masked_row(model, tokenizer, text, pair, masked, limit)
    return knockouts(model, batch, word_score(nth(gaps, gap), tokenizer.id_of(token)))


@dataclass(frozen=True)
class FillWithout:
    """The likeliest tokens at one masked position with all heads and with some off; `change` in ln p of one token."""

    before: Fill
    after: Fill
    change: float


def fill_without(
    model: MaskedLM,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None,
    masked: Sequence[int],
    gap: int,
    token: str,
    off: Sequence[Head],
    k: int = 8,
    limit: int | None = None,
) -> FillWithout:
    """Return what the model writes at masked position `gap` without the heads `off`; see fill_knockouts."""
    batch, gaps = masked_row(model, tokenizer, text, pair, masked, limit)
    position = nth(gaps, gap)
    change = change_without(model, batch, word_score(position, tokenizer.id_of(token)), off)
    without = batch | {"head_mask": head_mask(model, off)}
    before, after = (fill_positions(model, tokenizer, row, [position], k)[0] for row in (batch, without))
    return FillWithout(before, after, change)


@torch.inference_mode()
def change_without(model: PretrainedModel, batch: Batch, score: Score, off: Sequence[Head]) -> float:
    """Return how much `score` of a row (1, S) changes when the heads `off` are switched off together."""
    masks = torch.ones_like(head_mask(model, ())), head_mask(model, off)
    before, after = (score(model, bert_of(model)(**batch, head_mask=mask).last_hidden_state) for mask in masks)
    return float(after - before)
