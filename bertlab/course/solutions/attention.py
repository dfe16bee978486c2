"""My BERT, chapter 04: self-attention in several heads."""

import math

import torch
from torch import nn

# %% attention (chapter 04): Vaswani et al. 2017, section 3.2


def split_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)  # (B, S, H) -> (B, S, A, D) -> (B, A, S, D)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)  # (B, A, S, D) -> (B, S, A, D) -> (B, S, H)


class MultiHeadAttention(nn.Module):
    """Self-attention: softmax(Q K^T / sqrt(D)) V in A heads."""

    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, x, padding):
        """x (B, S, H), padding (B, 1, 1, S) or None -> output (B, S, H), weights (B, A, S, S)."""
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        scores = query @ key.mT / math.sqrt(query.size(-1))  # (B, A, S, S)
        if padding is not None:
            scores = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1)
        return self.out(merge_heads(self.dropout(weights) @ value)), weights
