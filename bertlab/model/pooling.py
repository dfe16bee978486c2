"""From the states of tokens to what a classifier reads: a mix of layers, their mean, or one state for each word.

Shapes: B sequences, S tokens, W words in the longest row, H hidden size, L layers.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.model.base import may_be_read

Pooling = Literal["cls", "mean", "max"]


class LayerMix(nn.Module):
    """One state per token out of those of several layers (Devlin et al. 2019, section 5.3, table 7).

    "scalar-mix" learns how much of each layer and of the embeddings to take: gamma * sum of softmax(weight)_l * state_l
    (Peters et al. 2018, equation 1). The others have no parameters; "concat-last-4" is four times as wide.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.kind = config.layer_mix
        self.width = config.hidden_size * (4 if self.kind == "concat-last-4" else 1)
        if self.kind == "scalar-mix":
            self.weight = nn.Parameter(torch.zeros(config.num_hidden_layers + 1))
            self.gamma = nn.Parameter(torch.ones(1))

    def forward(self, hidden_states: tuple[Tensor, ...]) -> Tensor:
        """L+1 x (B, S, H), [0] = embeddings -> (B, S, H), or (B, S, 4H) with "concat-last-4"."""
        if self.kind == "second-to-last":
            return hidden_states[-2]
        if self.kind == "sum-last-4":
            return torch.stack(hidden_states[-4:]).sum(0)
        if self.kind == "concat-last-4":
            return torch.cat(hidden_states[-4:], dim=-1)
        if self.kind == "scalar-mix":
            shares = self.gamma * self.weight.softmax(0)  # (L+1,)
            return torch.einsum("l,lbsh->bsh", shares, torch.stack(hidden_states))
        return hidden_states[-1]


def mean_over_tokens(states: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Return the mean (B, H) of states (B, S, H) that are not padding, summed in float32 or better; 0 of none."""
    if attention_mask is None:
        attention_mask = states.new_ones(states.shape[:2])
    precise = states.to(torch.promote_types(states.dtype, torch.float32))
    real = (attention_mask != 0)[:, :, None]  # (B, S, 1)
    total = precise.masked_fill(~real, 0).sum(1)  # (B, S, H) -> (B, H)
    return (total / real.sum(1).clamp(min=1)).to(states.dtype)


def pooled(states: Tensor, counted: Tensor, pooling: Pooling) -> Tensor:
    """Return one vector (B, H) of the states (B, S, H) of each text: that of [CLS], or the mean or the largest value in
    each dimension over the tokens where `counted` (B, S) is not 0."""
    if pooling == "cls":
        return states[:, 0]
    if pooling == "mean":
        return mean_over_tokens(states, counted)
    return states.masked_fill((counted == 0)[:, :, None], -torch.inf).amax(1)


def word_positions(word_mask: Tensor) -> Tensor:
    """Return which positions the words of each row take when they stand alone: first pieces (B, S) -> (B, W) bool.

    Off the CPU, W is S: a GPU would have to stop and count the words.
    """
    counts = word_mask.sum(1)  # (B,)
    most = max([1, *counts.tolist()]) if may_be_read(word_mask) else word_mask.size(1)
    return torch.arange(most, device=counts.device) < counts[:, None]


def moved(x: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Move what stands in each row where `source` is True, in its order, to where `target` is; 0 elsewhere.

    x (B, S, ...), source (B, S) and target (B, W) bool -> (B, W, ...).
    """
    B, S = source.shape
    number = torch.arange(S, device=x.device)
    order = torch.where(source, number, number + S).sort(dim=1).indices  # (B, S): True positions first
    origin = order.gather(1, (target.cumsum(1) - 1).clamp(min=0))  # (B, W): where the n-th True of a row comes from
    out = x[torch.arange(B, device=x.device)[:, None], origin]  # (B, S, ...) -> (B, W, ...)
    return out.masked_fill(~target.view(*target.shape, *[1] * (x.dim() - 2)), 0)


class WordConvolution(nn.Conv1d):
    """Each word with its two neighbours: a convolution three words wide, then GELU (see Collobert et al. 2011)."""

    def __init__(self, width: int, hidden_size: int):
        super().__init__(width, hidden_size, kernel_size=3, padding=1)

    def forward(self, states: Tensor, word_mask: Tensor) -> Tensor:  # type: ignore[override]  # not any (B, C, L)
        """states (B, S, width), first pieces (B, S) bool -> (B, S, H), 0 where no word begins."""
        positions = word_positions(word_mask)
        words = moved(states, word_mask, positions).transpose(1, 2)  # (B, S, width) -> (B, width, W)
        mixed = F.gelu(super().forward(words)).transpose(1, 2)  # (B, width, W) -> (B, W, H)
        return moved(mixed, positions, word_mask)  # (B, W, H) -> (B, S, H)
