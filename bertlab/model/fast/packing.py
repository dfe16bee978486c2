"""Batches without padding: all but attention treats tokens one by one and needs none."""

from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS = 64  # on a CPU, oneDNN builds a kernel for each number of rows that it has not met: few numbers, few kernels


class Packing:
    """Where the N tokens of a batch stand: packs (B, S, ...) into (N, ...) and unpacks it again.

    Made from an attention_mask (B, S) that is on the CPU and moved with `to`, it costs a GPU no stop to count tokens.
    Rows of the mask may have gaps, but heads read the first position of each: where a row begins with padding, it is
    not `usable`, and the batch is computed whole. With `filled` a large batch is packed into a multiple of 64 rows: its
    first token fills those that are left over, and unpacking drops them. On a CPU a small model's step is then a tenth
    shorter.
    """

    def __init__(self, attention_mask: Tensor, filled: bool = False):
        self.shape = attention_mask.shape
        self.usable = bool(attention_mask[:, :1].all())
        positions = attention_mask.flatten().nonzero().squeeze(1)  # (N,), numbers of 0..B*S-1
        self.tokens = len(positions)
        missing = -self.tokens % ROWS if filled and self.tokens >= 8 * ROWS else 0
        self.packed = F.pad(positions, (0, missing))  # (N or a few more,), 0 where the first token fills up
        self.row_starts = F.pad(attention_mask.ne(0).sum(1).cumsum(0), (1, 0))  # (B + 1,), numbers of 0..N

    def to(self, device: torch.device, non_blocking: bool = False) -> Self:
        """Return the same Packing on another device."""
        moved = object.__new__(type(self))
        moved.shape, moved.usable, moved.tokens = self.shape, self.usable, self.tokens
        moved.packed = self.packed.to(device, non_blocking=non_blocking)
        moved.row_starts = self.row_starts.to(device, non_blocking=non_blocking)
        return moved

    def pack(self, x: Tensor) -> Tensor:
        return x.flatten(0, 1).index_select(0, self.packed)  # (B, S, H) -> (N or a few more, H)

    def unpack(self, x: Tensor) -> Tensor:
        empty = x.new_zeros(self.shape.numel(), x.size(-1))
        positions, x = self.packed[: self.tokens], x[: self.tokens]
        return empty.index_copy(0, positions, x).view(*self.shape, -1)  # (N, H) -> (B, S, H), 0 at padding

    def attend(self, query: Tensor, key: Tensor, value: Tensor, dropout: float) -> Tensor:
        """Return softmax(Q K^T / sqrt(D)) V within each row, all (N, A, D), by flash attention on nested tensors."""
        rows = self._nested(query), self._nested(key), self._nested(value)
        context = F.scaled_dot_product_attention(*rows, dropout_p=dropout)  # (B, A, its own length, D)
        return context.transpose(1, 2).values()  # -> (N, A, D)

    def _nested(self, x: Tensor) -> Tensor:
        x, longest = x.contiguous(), self.shape[1]
        # Without the two bounds torch would stop the device to ask for them.
        rows = torch.nested.nested_tensor_from_jagged(x, self.row_starts, min_seqlen=1, max_seqlen=longest)
        return rows.transpose(1, 2)  # (N, A, D) -> (B, A, its own length, D)


def choose_packing(packed: bool | Packing, attention_mask: Tensor | None) -> Packing | None:
    """Return the Packing that was given, or on a CPU one made here; None where it is not usable."""
    if packed is True and attention_mask is not None and attention_mask.device.type == "cpu":
        packed = Packing(attention_mask, filled=True)
    return packed if isinstance(packed, Packing) and packed.usable else None
