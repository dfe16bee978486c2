"""Batches without their padding: for most of the encoder a batch is just a heap of tokens."""

import torch
import torch.nn.functional as F
from torch import Tensor


class Packing:
    """Tokens without padding: (B, S, ...) <-> (N, ...). All but attention treats tokens one by one and needs none.

    Made from an attention_mask (B, S) that is on the CPU and moved with `to`, it costs a GPU no stop to count tokens.
    Rows of the mask may have gaps.
    """

    def __init__(self, attention_mask: Tensor):
        self.shape = attention_mask.shape
        self.places = attention_mask.flatten().nonzero().squeeze(1)  # (N,), numbers of 0..B*S-1
        self.row_starts = F.pad(attention_mask.ne(0).sum(1).cumsum(0), (1, 0))  # (B + 1,), numbers of 0..N

    def to(self, device: torch.device, non_blocking: bool = False) -> "Packing":
        moved = object.__new__(type(self))
        moved.shape = self.shape
        moved.places, moved.row_starts = (
            t.to(device, non_blocking=non_blocking) for t in (self.places, self.row_starts)
        )
        return moved

    def pack(self, x: Tensor) -> Tensor:
        return x.flatten(0, 1).index_select(0, self.places)  # (B, S, H) -> (N, H)

    def unpack(self, x: Tensor) -> Tensor:
        empty = x.new_zeros(self.shape.numel(), x.size(-1))
        return empty.index_copy(0, self.places, x).view(*self.shape, -1)  # (N, H) -> (B, S, H), 0 at padding

    def attend(self, query: Tensor, key: Tensor, value: Tensor, dropout: float) -> Tensor:
        """softmax(Q K^T / sqrt(D)) V within each row, all (N, A, D), by nested tensors: flash attention on a GPU."""
        rows = (self._nested(x) for x in (query, key, value))
        context = F.scaled_dot_product_attention(*rows, dropout_p=dropout)  # (B, A, its own length, D)
        return context.transpose(1, 2).values()  # -> (N, A, D)

    def _nested(self, x: Tensor) -> Tensor:
        # the lengths are told, or torch would stop the device to ask
        longest = {"min_seqlen": 1, "max_seqlen": self.shape[1]}
        rows = torch.nested.nested_tensor_from_jagged(x.contiguous(), self.row_starts, **longest)
        return rows.transpose(1, 2)  # (N, A, D) -> (B, A, its own length, D)


def choose_packing(packed: bool | Packing, attention_mask: Tensor | None) -> Packing | None:
    """The Packing that was given, or on CPU one made here."""
    if isinstance(packed, Packing):
        return packed
    on_cpu = attention_mask is not None and attention_mask.device.type == "cpu"
    return Packing(attention_mask) if packed and on_cpu else None
