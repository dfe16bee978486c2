"""One masked position on its way through the whole model: embeddings, heads, residual stream, logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bertlab.explain.text import plain_bert_of
from bertlab.explain.words.fill import MaskedLM, masked_row, nth, position_logits
from bertlab.explain.words.lens import Lens, logit_lens
from bertlab.inputs.features import Batch
from bertlab.tokenizer import Tokenizer


@dataclass(frozen=True)
class FollowedWord:
    """What a BERT of L layers, A heads and hidden size H computes at masked `position` of a text of S tokens.

    `norms` (3, S) are the lengths of the word, position and segment vectors whose sum, normalised, enters layer 1.
    `attention` (L, A, S) is what each head gives each token there; it sums to 1 over the tokens. `states` (L+1, H) is
    the residual stream, [0] = embeddings; `updates` (L, 2) how long the vectors are that attention and the
    feed-forward network add to it, in lengths of the stream they are added to. `lens` has the guesses after each
    layer, `logits` those of the guesses after the last.
    """

    tokens: list[str]
    input_ids: list[int]
    position: int
    norms: Tensor
    attention: Tensor
    states: Tensor
    updates: Tensor
    lens: Lens
    logits: list[float]
    vocab_size: int


def follow_word(
    model: MaskedLM,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None = None,
    masked: Sequence[int] = (),
    gap: int = 0,
    limit: int | None = None,
    k: int = 8,
) -> FollowedWord:
    """Follow masked position number `gap` of a text or pair, counted from 0, to its `k` likeliest tokens.

    `masked` and `limit` are as in fill_mask. Raises InputError as that does.
    """
    batch, gaps = masked_row(model, tokenizer, text, pair, masked, limit)
    position = nth(gaps, gap)
    lens = logit_lens(model, tokenizer, text, pair, position, k, masked, limit)
    ids = batch["input_ids"][0].tolist()
    with torch.inference_mode():
        out = model.bert(**batch, output_attentions=True, output_hidden_states=True)
        attention = torch.stack([layer[0, :, position] for layer in out.attentions])  # L x (1, A, S, S) -> (L, A, S)
        states = torch.stack([state[0, position] for state in out.hidden_states])  # L+1 x (1, S, H) -> (L+1, H)
        logits = position_logits(model, batch, position)[0, : tokenizer.vocab_size]  # (1, V) -> (V,)
        guesses = logits.topk(len(lens.layers[-1].tokens)).values  # (V,) -> (k,)
        norms, updates = embedding_norms(model, batch), relative_updates(model, out.hidden_states, position)
    return FollowedWord(
        tokenizer.convert_ids_to_tokens(ids),
        ids,
        position,
        norms,
        attention.float(),
        states.float(),
        updates,
        lens,
        guesses.tolist(),
        len(logits),
    )


def embedding_norms(model: MaskedLM, batch: Batch) -> Tensor:
    """Return the lengths of the word, position and segment vectors of a row (1, S), (3, S)."""
    table, ids = model.bert.embeddings, batch["input_ids"][0]
    parts = table.word(ids), table.position.weight[: len(ids)], table.segment(batch["token_type_ids"][0])
    return torch.stack([part.float().norm(dim=-1) for part in parts])  # 3 x (S, H) -> (3, S)


def relative_updates(model: MaskedLM, states: Sequence[Tensor], position: int) -> Tensor:
    """Return |what is added| / |what it is added to| at `position`: (L, 2) for attention and feed-forward.

    states: L+1 x (1, S, H), of a row without padding.
    """
    layers: list[Any] = list(plain_bert_of(model).encoder.layers)
    rows = []
    for layer, x in zip(layers, states, strict=False):  # the last state enters no layer
        attended = layer.attention(x)[0]
        between = layer.attention_norm(x + attended)
        pairs = (attended, x), (layer.feed_forward(between), between)
        rows.append([float(added[0, position].norm() / before[0, position].norm()) for added, before in pairs])
    return torch.tensor(rows)
