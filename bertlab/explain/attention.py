"""Where each head looks, as one array."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.explain.text import encode, longest


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
def attention_maps(model, tokenizer, text: str, pair: str | None = None, limit: int | None = None) -> AttentionMaps:
    """Attention weights of all heads for a text or pair, cut to `limit` tokens or the model's length.

    Raises InputError when the text is empty.
    """
    encoded = encode(tokenizer, text, pair, longest(model, limit))
    out = model(**encoded.batch, output_attentions=True)
    weights = torch.stack([layer[0] for layer in out.attentions]).float()  # L x (1, A, S, S) -> (L, A, S, S)
    return AttentionMaps(encoded.tokens, encoded.token_type_ids.tolist(), weights, encoded.dropped, encoded.unknown)
