"""Attention between the tokens of each text in a batch, by the fastest kernel that gives what is asked for.

What enters is a batch with its padding, (B, S, ...), or packed, (N, ...): its tokens without the padding between them.
`Rows` says which it is and who may attend to whom; outside this file nothing needs to know.

Shapes: B sequences, S tokens of the longest, N tokens of all, A heads, D head size.
"""

from dataclasses import dataclass
from typing import Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.errors import InputError
from bertlab.model.base import may_be_read

Kernel = Literal["explicit", "fused", "nested"]
ROWS = 64  # of a large batch; on a CPU their number is a multiple of it


def few_sizes(size: int, least: int = 1) -> int:
    """Round a size up by at most a sixteenth, to a multiple of `least`, so that few sizes occur.

    On a CPU, oneDNN builds a kernel for each size that it has not met, which takes time, and keeps a thousand of them,
    which takes gigabytes in bfloat16.
    """
    unit = max(least, 2 ** max(size.bit_length() - 5, 0))
    return -(-size // unit) * unit


class Packing:
    """Where the N tokens of a batch stand: packs (B, S, ...) into (N, ...) and unpacks it again.

    Made from an attention_mask (B, S) that is on the CPU and moved with `to`, it costs a GPU no stop to count tokens.
    Rows of the mask may have gaps, but heads read the first position of each: where a row begins with padding, it is
    not `usable`, and the batch is computed whole. With `filled` a large batch is packed into one of few numbers of
    rows, a multiple of 64: its first token fills those that are left over, and unpacking drops them. On a CPU a small
    model's step is then a tenth shorter.
    """

    def __init__(self, attention_mask: Tensor, filled: bool = False):
        self.shape = attention_mask.shape
        self.usable = bool(attention_mask[:, :1].all())
        positions = attention_mask.flatten().nonzero().squeeze(1)  # (N,), numbers of 0..B*S-1
        self.tokens = len(positions)
        missing = few_sizes(self.tokens, ROWS) - self.tokens if filled and self.tokens >= 8 * ROWS else 0
        self.packed = F.pad(positions, (0, missing))  # (N or a few more,), 0 where the first token fills up
        self.row_starts = F.pad(attention_mask.ne(0).sum(1).cumsum(0), (1, 0))  # (B + 1,), numbers of 0..N

    def to(self, device: torch.device, non_blocking: bool = False) -> Self:
        """Return the same Packing on another device."""
        moved = object.__new__(type(self))
        moved.shape, moved.usable, moved.tokens = self.shape, self.usable, self.tokens
        moved.packed = self.packed.to(device, non_blocking=non_blocking)
        moved.row_starts = self.row_starts.to(device, non_blocking=non_blocking)
        return moved

    def check(self, attention_mask: Tensor | None) -> None:
        """Raise an InputError for another attention_mask (B, S) than it was made from; off a CPU, of another shape."""
        if attention_mask is not None and attention_mask.shape == self.shape:
            if not may_be_read(attention_mask):
                return
            if torch.equal(attention_mask.flatten().nonzero().squeeze(1), self.packed[: self.tokens]):
                return
        raise InputError("packed must be the Packing of the attention_mask that stands beside it")

    def pack(self, x: Tensor) -> Tensor:
        return x.flatten(0, 1).index_select(0, self.packed)  # (B, S, ...) -> (N or a few more, ...)

    def unpack(self, x: Tensor) -> Tensor:
        positions, x = self.packed[: self.tokens], x[: self.tokens]
        whole = x.new_zeros(self.shape.numel(), *x.shape[1:]).index_copy_(0, positions, x)
        return whole.view(*self.shape, *x.shape[1:])  # (N, ...) -> (B, S, ...), 0 at padding


@dataclass(frozen=True, eq=False)
class Rows:
    """Which of the tokens in a batch may attend to which. Rows() hides nothing: each row is a text without padding.

    padding is True where a token must not attend: (B, 1, 1, S), or causal, so different for each asking token,
    (B, 1, S, S) or (S, S). With a packing the tokens are packed, though `padding` has the shape of the whole batch.
    """

    padding: Tensor | None = None
    packing: Packing | None = None

    @classmethod
    def of(
        cls, input_ids: Tensor, attention_mask: Tensor | None, causal: bool = False, packed: bool | Packing = False
    ) -> Self:
        """Return the rows of input_ids (B, S) with an attention_mask (B, S): 1 = token, 0 = padding; None = no padding.

        With `causal` no token sees what stands to its right. With `packed` the rows are packed, if that is usable and,
        for True, on a CPU: a GPU would have to stop and count the tokens.
        """
        # (B, S) -> (B, 1, 1, S): the same for every head and every asking token
        padding = None if attention_mask is None else (attention_mask == 0)[:, None, None, :]
        if packed is True and attention_mask is not None and attention_mask.device.type == "cpu":
            packed = Packing(attention_mask, filled=True)
        elif isinstance(packed, Packing):
            packed.check(attention_mask)
        packing = packed if isinstance(packed, Packing) and packed.usable else None
        return cls(causal_mask(padding, input_ids) if causal else padding, packing)

    def pack(self, x: Tensor) -> Tensor:
        """Return x (B, S, ...) without padding, (N, ...), if these rows are packed; else x itself."""
        return x if self.packing is None else self.packing.pack(x)

    def unpack(self, x: Tensor) -> Tensor:
        """Undo `pack`, with 0 at padding."""
        return x if self.packing is None else self.packing.unpack(x)

    def positions(self, x: Tensor) -> Tensor:
        """Return where the tokens of x, (B, S, ...) or packed (N, ...), stand in their row: (S,) or (N,)."""
        if self.packing is None:
            return torch.arange(x.size(1), device=x.device)
        return self.packing.packed % self.packing.shape[1]

    def bias(self, dtype: torch.dtype) -> Tensor | None:
        """Return what is added to the scores: 0 at tokens, the lowest finite number of their dtype at padding.

        Not -inf, with which a row that is all padding would become nan; and not the lowest float32 number, which is
        -inf in bfloat16.
        """
        return None if self.padding is None else self.padding.to(dtype) * torch.finfo(dtype).min

    @property
    def causal(self) -> bool:
        return self.padding is not None and self.padding.size(-2) > 1


def causal_mask(padding: Tensor | None, input_ids: Tensor) -> Tensor:
    """Also hide from each token what stands to its right: padding (B, 1, 1, S) or None -> (B, 1, S, S) or (S, S)."""
    size = input_ids.size(1)
    right = torch.ones(size, size, dtype=torch.bool, device=input_ids.device).triu(1)
    return right if padding is None else padding | right


def attend(qkv: Tensor, rows: Rows, dropout: nn.Dropout, need_weights: bool = False) -> tuple[Tensor, Tensor | None]:
    """Return softmax(Q K^T / sqrt(D)) V of the tokens in each row, and with `need_weights` the softmax.

    qkv holds the query, key and value of each token in each head, side by side, so that one copy unpacks all three:
    (B, S, 3, A, D) -> (B, S, A, D) or, packed, (N, 3, A, D) -> (N, A, D). The weights are (B, A, S, S) even then.
    """
    kernel = choose_kernel(qkv, rows, dropout, need_weights)
    if kernel == "nested":
        assert rows.packing is not None
        return nested(qkv, rows.packing, dropout), None
    # (B, S, 3, A, D) -split-> 3 x (B, S, A, D) -transpose-> 3 x (B, A, S, D)
    query, key, value = (part.transpose(1, 2) for part in rows.unpack(qkv).unbind(2))
    bias, weights = rows.bias(qkv.dtype), None
    if kernel == "explicit":
        weights = attention_weights(query, key, bias)
        context = dropout(weights) @ value  # (B, A, S, S) @ (B, A, S, D) -> (B, A, S, D): each token's mix of values
    else:
        context = F.scaled_dot_product_attention(query, key, value, bias, dropout_p=share_dropped(dropout))
    return rows.pack(context.transpose(1, 2)), weights  # (B, A, S, D) -transpose-> (B, S, A, D)


def choose_kernel(qkv: Tensor, rows: Rows, dropout: nn.Dropout, need_weights: bool) -> Kernel:
    """Return the fastest kernel.

    "explicit" alone gives the weights, and on a CPU it trains faster than the fused kernel with dropout or in
    bfloat16. "nested", for rows of unequal length, is there on a GPU, which may not know causal attention; on a CPU it
    is quicker to put the padding back. "fused" is best for the rest.
    """
    if need_weights:
        return "explicit"
    if rows.packing is not None and qkv.device.type == "cuda" and not rows.causal:
        return "nested"
    fused_is_slow = dropout.p > 0 or torch.is_autocast_enabled("cpu")
    return "explicit" if dropout.training and fused_is_slow and qkv.device.type == "cpu" else "fused"


def attention_weights(query: Tensor, key: Tensor, bias: Tensor | None) -> Tensor:
    """Return softmax(Q K^T / sqrt(D) + bias), (B, A, S, S): row i says how much of each token goes to token i.

    One product scales and hides too, so that neither takes a pass of its own over the scores.
    """
    B, A, S, D = query.shape
    added = query.new_zeros(1, 1, 1) if bias is None else bias.expand(B, A, -1, S).flatten(0, 1)
    # bias + (B*A, S, D) @ (B*A, D, S) / sqrt(D) -> (B*A, S, S): how well each key fits the query of token i
    scores = torch.baddbmm(added, query.flatten(0, 1), key.flatten(0, 1).transpose(1, 2), alpha=D**-0.5)
    return scores.softmax(dim=-1).view(B, A, S, S)


def nested(qkv: Tensor, packing: Packing, dropout: nn.Dropout) -> Tensor:
    """Return the context (N, A, D) of packed rows by flash attention on nested tensors, which knows no padding."""

    def by_rows(x: Tensor) -> Tensor:
        x, longest = x.contiguous(), packing.shape[1]
        # Without the two bounds torch would stop the device to ask for them.
        rows = torch.nested.nested_tensor_from_jagged(x, packing.row_starts, min_seqlen=1, max_seqlen=longest)
        return rows.transpose(1, 2)  # (N, A, D) -> (B, A, its own length, D)

    # (N, 3, A, D) -> 3 x (N, A, D)
    query, key, value = (by_rows(part) for part in qkv.unbind(1))
    context = F.scaled_dot_product_attention(query, key, value, dropout_p=share_dropped(dropout))
    return context.transpose(1, 2).values()  # (B, A, its own length, D) -> (N, A, D)


def share_dropped(dropout: nn.Dropout) -> float:
    return dropout.p if dropout.training else 0.0


BASE = 10_000.0  # the slowest pair turns by one radian in nearly so many tokens (Su et al. 2021, section 3.2.2)


def turn_queries_and_keys(qkv: Tensor, positions: Tensor) -> Tensor:
    """Turn queries and keys, not values, of qkv (..., S, 3, A, D) by their positions (S,): so a product of both depends
    on how far apart they stand (Su et al. 2021, "RoFormer")."""
    query_and_key, value = qkv.split([2, 1], dim=-3)
    return torch.cat([rotate(query_and_key, positions[:, None, None]), value], dim=-3)


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Turn number d and number D/2 + d of x (..., D), as a point in the plane, by position * BASE ** (-2d / D).

    `positions` has the shape of x without its last axis, or broadcasts to it.
    """
    half = x.size(-1) // 2
    rates = BASE ** -(torch.arange(half, device=x.device) / half)  # (D/2,)
    angles = positions[..., None] * rates  # (..., D/2), in float32 under autocast too
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
