"""Split and merge, and multi-head attention."""

from typing import Any

import torch
from torch import Tensor

from bertlab.course.exercise import Exercise
from bertlab.course.observe import attention, backward, expect, random_tensor
from bertlab.course.solutions import encoder
from bertlab.course.solutions.config import Config

check_heads = Exercise(
    (encoder.split_heads, encoder.merge_heads),
    lambda: [(random_tensor(2, 6, 12), 3), (random_tensor(3, 4, 10), 2), (random_tensor(1, 5, 4), 4)],
    right="Right: every head has all tokens, and a share of the features.",
    observe=lambda split, merge, x, heads: _split_and_merged(split, merge, x, heads),
    kept=("split_heads", "merge_heads"),
    slips=[
        (
            "you cut the sequence: view alone fills (B, A, S, D) in the order of memory, so head 0 got all features of "
            "the first tokens. Cut the features, (B, S, A, D), then swap A and S.",
            "x.unflatten(-1, (heads, -1)).transpose(1, 2) => x.reshape(x.size(0), heads, x.size(1), -1)",
        ),
        (
            "the shape is (B, S, A, D): swap A and S, so that each head has its own (S, D).",
            "x.unflatten(-1, (heads, -1)).transpose(1, 2) => x.unflatten(-1, (heads, -1))",
        ),
        (
            "head 0 got every A-th feature: its share is the first D features, side by side, (B, S, A, D).",
            "(heads, -1)).transpose(1, 2) => (-1, heads)).permute(0, 3, 1, 2)",
        ),
        (
            "merge_heads flattens before it transposes: the heads of one token must lie side by side again first, "
            "(B, A, S, D) -> (B, S, A, D) -> (B, S, H).",
            "x.transpose(1, 2).flatten(2) => x.reshape(x.size(0), x.size(2), -1)",
        ),
        (
            "no gradient passes the two: the heads are learned through them, so no detach and no new tensor.",
            "x.unflatten => x.detach().unflatten",
        ),
        (
            "merge_heads should give (B, S, H) back: it leaves the heads apart.",
            "transpose(1, 2).flatten(2) => transpose(1, 2)",
        ),
    ],
)


def _split_and_merged(split, merge, x: Tensor, heads: int) -> dict[str, Any]:
    leaf = x.clone().requires_grad_()
    parts = split(leaf * 1, heads)
    expect(isinstance(parts, Tensor), "split_heads should return one tensor, (B, A, S, D).")
    merged = merge(parts.contiguous())  # as the product with the values leaves it
    expect(isinstance(merged, Tensor), "merge_heads should return one tensor, (B, S, H).")
    backward(merged)
    return {"split_heads": parts, "merge_heads": merged, "gradient of x": leaf.grad}


def _attention_inputs() -> list[tuple]:
    padding = torch.tensor([[0] * 6, [0] * 4 + [1] * 2, [0] + [1] * 5]).bool()[:, None, None]  # (3, 1, 1, 6)
    sizes = ((24, 3, padding), (10, 2, padding), (6, 1, None))  # hidden size, heads
    return [
        ((Config(hidden_size=H, num_attention_heads=A, attention_probs_dropout_prob=0.4),), {"forward": (x, hidden)})
        for H, A, hidden in sizes
        for x in [random_tensor(3, 6, H)]
    ]


SPLIT = "(split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))"

ATTENDS = [  # slips of attention, wherever queries, keys and values come from
    (
        "the last product is missing: `out` mixes what the heads found.",
        "self.out(merge_heads(self.dropout(weights) @ value)) => merge_heads(self.dropout(weights) @ value)",
    ),
    (
        "padding was not hidden: where `padding` is True, the score must be the lowest number.",
        "if padding is not None: => if False:",
    ),
    (
        "a text that is padding alone became nan (0/0): hide with the lowest finite number, "
        "torch.finfo(scores.dtype).min, not -inf.",
        "torch.finfo(scores.dtype).min => -torch.inf",
    ),
    ("`padding` is True where a token must not be attended to.", "masked_fill(padding => masked_fill(~padding"),
    ("the scores are not divided by the square root of D.", " / math.sqrt(query.size(-1)) => "),
    ("you divided by the square root of H: D is H / A.", "math.sqrt(query.size(-1)) => math.sqrt(x.size(-1))"),
    (
        "with padding=None your code stops: hide padding only `if padding is not None`.",
        "if padding is not None: => if True:",
    ),
    (
        "return the weights that the softmax gave: dropout is for the product with the values alone.",
        "weights = scores.softmax(-1) => weights = self.dropout(scores.softmax(-1))",
        "self.dropout(weights) @ => weights @",
    ),
    (
        "in training nothing is dropped: nn.Dropout belongs on the weights, after the softmax.",
        "self.dropout(weights) => weights",
    ),
    (
        "no gradient passes the weights: queries and keys would learn nothing.",
        "scores.softmax(-1) => scores.softmax(-1).detach()",
    ),
    ("return two values: the output and the weights.", "@ value)), weights => @ value))"),
    ("the softmax runs over the tokens that are attended to, dim -1.", "scores.softmax(-1) => scores.softmax(-2)"),
]

check_multi_head_attention = Exercise(
    encoder.MultiHeadAttention,
    _attention_inputs,
    right="Right: with the same weights your module and the library's give the same.",
    observe=attention,
    gives=("the output", "the weights"),
    kept=("MultiHeadAttention",),
    slips=[
        *ATTENDS,
        (
            "there is one head alone, as wide as H: split into heads before the scores.",
            "split_heads(part, self.heads) => split_heads(part, 1)",
        ),
        (
            "the 3H columns of qkv are all queries, then all keys, then all values: split as (3, A, D), not (A, 3, D).",
            f"{SPLIT} => self.qkv(x).unflatten(-1, (self.heads, 3, -1)).permute(3, 0, 2, 1, 4)",
        ),
        (
            "you cut the sequence instead of the features: see split_heads.",
            "split_heads(part, self.heads) => part.reshape(len(x), self.heads, x.size(1), -1)",
        ),
        (
            "the heads were flattened before they were transposed: see merge_heads.",
            "merge_heads(self.dropout(weights) @ value) => (self.dropout(weights) @ value).reshape(x.shape)",
        ),
        (
            "queries and keys are swapped: the first H columns of qkv are the queries.",
            "query, key, value =  => key, query, value = ",
        ),
        (
            "you drop out scores: dropout comes after the softmax.",
            "weights = scores.softmax(-1) => weights = self.dropout(scores).softmax(-1)",
            "self.dropout(weights) @ => weights @",
        ),
        (
            "dropout belongs on the weights: yours is on the output.",
            "self.out(merge_heads(self.dropout(weights) @ value)) => self.dropout(self.out(merge_heads(weights @ "
            "value)))",
        ),
        (
            "after .eval() weights are still dropped: nn.Dropout knows when, F.dropout does not.",
            "self.dropout(weights) => F.dropout(weights, 0.4)",
        ),
        ("use the number in config: attention_probs_dropout_prob.", "config.attention_probs_dropout_prob => 0.1"),
    ],
)
