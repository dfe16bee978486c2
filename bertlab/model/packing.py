"""Batches without their padding: for most of the encoder a batch is just a heap of tokens."""

from torch import Tensor


class Packing:
    """Tokens without padding: (B, S, ...) <-> (N, ...). All but attention treats tokens one by one and needs none."""

    def __init__(self, attention_mask: Tensor):
        self.shape = attention_mask.shape
        self.places = attention_mask.flatten().nonzero().squeeze(1)  # (N,), numbers of 0..B*S-1

    def pack(self, x: Tensor) -> Tensor:
        return x.flatten(0, 1).index_select(0, self.places)  # (B, S, H) -> (N, H)

    def unpack(self, x: Tensor) -> Tensor:
        empty = x.new_zeros(self.shape.numel(), x.size(-1))
        return empty.index_copy(0, self.places, x).view(*self.shape, -1)  # (N, H) -> (B, S, H), 0 at padding
