"""What every head attends to, and the queries and keys behind it (Vaswani et al. 2017, section 3.2)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bertlab.explain.text import encode, longest, plain_bert_of
from bertlab.model.base import PretrainedModel
from bertlab.tokenizer import Tokenizer


@dataclass(frozen=True)
class AttentionMaps:
    """Attention of every head for one text: weights[l, a, i, j] is how much token i takes from token j.

    `weights` is (L, A, S, S) and each row sums to one; `token_type_ids` is (S,): 0 first text, 1 second.
    """

    tokens: list[str]
    token_type_ids: list[int]
    weights: Tensor
    dropped: int = 0
    unknown: int = 0


@torch.inference_mode()
def attention_maps(
    model: PretrainedModel, tokenizer: Tokenizer, text: str, pair: str | None = None, limit: int | None = None
) -> AttentionMaps:
    """Return the attention weights of all heads for a text or pair, cut to `limit` tokens or the model's length.

    Raises InputError when the text is empty.
    """
    encoded = encode(tokenizer, text, pair, longest(model, limit))
    out = model(**encoded.batch, output_attentions=True)
    weights = torch.stack([layer[0] for layer in out.attentions]).float()  # L x (1, A, S, S) -> (L, A, S, S)
    return AttentionMaps(encoded.tokens, encoded.token_type_ids.tolist(), weights, encoded.dropped, encoded.unknown)


@dataclass(frozen=True)
class Neurons:
    """`queries` and `keys` are (L, A, S, D): the weights of `maps` are the softmax of query . key / sqrt(D)."""

    maps: AttentionMaps
    queries: Tensor
    keys: Tensor


@torch.inference_mode()
def neurons(
    model: PretrainedModel, tokenizer: Tokenizer, text: str, pair: str | None = None, limit: int = 512
) -> Neurons:
    """Return queries, keys and weights of all heads for a text or pair, cut to `limit` tokens or the model's length.

    Raises InputError when the text is empty.
    """
    maps = attention_maps(model, tokenizer, text, pair, limit)
    bert = plain_bert_of(model)
    batch = encode(tokenizer, text, pair, len(maps.tokens)).batch
    states = bert(**batch, output_hidden_states=True).hidden_states[:-1]  # L x (1, S, H)
    heads = model.config.num_attention_heads
    layers: list[Any] = list(bert.encoder.layers)
    projected = torch.stack([layer.attention.qkv(state[0]) for layer, state in zip(layers, states, strict=True)])
    # (L, S, 3H) -split-> (L, S, 3, A, D) -permute-> 3 x (L, A, S, D)
    queries, keys, _ = projected.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4).float()
    return Neurons(maps, queries, keys)
