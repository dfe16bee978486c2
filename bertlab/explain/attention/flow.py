"""Four measures of how much a position takes from each token, and how far they agree.

Raw attention; attention rollout (Abnar and Zuidema 2020, section 3); attention weighted by the length of what is
carried (Kobayashi et al. 2020, section 2.2); integrated gradients. Jain and Wallace 2019, "Attention is not
Explanation", compare them by rank correlation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertlab.explain.attribution import Progress, attribute_fill
from bertlab.explain.text import frame_mask, plain_bert_of
from bertlab.explain.words.fill import MaskedLM, masked_row, nth
from bertlab.inputs.features import Batch
from bertlab.model.base import PretrainedModel
from bertlab.model.encoder import MultiHeadAttention
from bertlab.tokenizer import Tokenizer

FEWEST = 4  # tokens; a ranking of fewer says nothing


def rollout(weights: Tensor) -> Tensor:
    """Return how much of the state at i after each layer comes from the input at j, (L, A, S, S) -> (L, S, S).

    Each layer passes on half of what it is given (the residual connection) and half of what its heads gather, on
    average; the layers are multiplied. Rows sum to one.
    """
    size = weights.size(-1)
    steps = (weights.mean(1) + torch.eye(size)) / 2  # (L, A, S, S) -> (L, S, S)
    flows = [steps[0]]
    for step in steps[1:]:
        flows.append(step @ flows[-1])
    return torch.stack(flows)


@torch.inference_mode()
def value_weighted(model: PretrainedModel, batch: Batch) -> Tensor:
    """Return the length of the vector that each head carries from token j to token i of a row (1, S), (L, A, S, S).

    It is weight x |(x_j W_V + b_V) W_O|: a token that gets much attention may have little to give.
    """
    bert = plain_bert_of(model)
    out = bert(**batch, output_attentions=True, output_hidden_states=True)
    layers: list[Any] = list(bert.encoder.layers)
    parts = zip(layers, out.hidden_states[:-1], out.attentions, strict=True)
    # (A, S, S) * (A, 1, S), L times
    return torch.stack(
        [weights[0] * _carried(layer.attention, states[0]).norm(dim=-1)[:, None] for layer, states, weights in parts]
    )


def _carried(attention: MultiHeadAttention, states: Tensor) -> Tensor:
    """Return what each head would carry from each token at weight 1: (S, H) -> (A, S, H)."""
    value = attention.qkv(states).chunk(3, dim=-1)[2].unflatten(-1, (attention.heads, -1))  # (S, H) -> (S, A, D)
    out = attention.out.weight.unflatten(-1, (attention.heads, -1))  # (H, H) -> (H, A, D)
    return torch.einsum("sad,had->ash", value, out)


@dataclass(frozen=True)
class Measures:
    """How much `position` takes from each token by each of four measures: values[name] (S,).

    Attention and its norms are means over all layers and heads. `compared` (S,) are the tokens that are
    ranked: not [CLS] and [SEP], which integrated gradients keep, and not the position itself.
    """

    tokens: list[str]
    position: int
    compared: list[bool]
    values: dict[str, list[float]]

    @property
    def agreement(self) -> np.ndarray | None:
        """Spearman's rank correlations of the measures, (4, 4): 1 the same order, 0 no relation, -1 reversed.

        nan where a measure gives all tokens the same; None where fewer than four tokens are compared.
        """
        from scipy.stats import rankdata

        if sum(self.compared) < FEWEST:
            return None
        chosen = np.array(list(self.values.values()))[:, self.compared]  # (4, N)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.corrcoef(rankdata(chosen, axis=1))  # (4, 4)


def measures(
    model: MaskedLM,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None,
    masked: Sequence[int],
    gap: int,
    token: str,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Measures:
    """Return what masked position number `gap` takes from each token; the gradients are those of `token` there.

    Raises InputError as masked_row does, and for a token that is not in the vocabulary.
    """
    batch, gaps = masked_row(model, tokenizer, text, pair, masked, limit)
    position = nth(gaps, gap)
    with torch.inference_mode():
        weights = torch.stack([layer[0] for layer in model.bert(**batch, output_attentions=True).attentions])
    contributions = attribute_fill(model, tokenizer, batch, position, tokenizer.id_of(token), progress)
    values = {
        "attention": weights.mean((0, 1))[position],  # (L, A, S, S) -> (S,)
        "rollout": rollout(weights)[-1, position],
        "value-weighted": value_weighted(model, batch).mean((0, 1))[position],
        "gradients": contributions.values.abs(),
    }
    framing = frame_mask(tokenizer, batch["input_ids"])[0].tolist()  # (1, S) -> S
    compared = [i != position and not kept for i, kept in enumerate(framing)]
    return Measures(contributions.tokens, position, compared, {name: value.tolist() for name, value in values.items()})
