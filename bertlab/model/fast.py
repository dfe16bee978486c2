"""What is only speed: memory that is kept, cheap dropout, batches without padding, a loss without all logits."""

import ctypes
import sys
from contextlib import suppress
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# of mallopt, as in glibc's malloc.h
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


@cache
def keep_memory() -> None:
    """Tell glibc not to return large blocks to Linux: fetching them anew, page by page, takes a tenth of a step.

    It holds for the whole process, once. Elsewhere, and under another allocator, this changes nothing.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


STEPS = 2**16  # what 16 random bits can tell apart


class Dropout(nn.Dropout):
    """nn.Dropout; on CPU each number gets 16 random bits, of which four numbers share a draw.

    So the chance to be dropped is `p` to the nearest 1/65,536, and what stays is scaled by just that chance.
    """

    def forward(self, x: Tensor) -> Tensor:
        dropped = round(self.p * STEPS)
        if not self.training or x.device.type != "cpu" or not 0 < dropped < STEPS:
            return super().forward(x)
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int16)[: x.numel()].view(x.shape)  # -32,768 to 32,767
        keep = bits >= dropped - STEPS // 2
        return x * keep.to(x.dtype).mul_(STEPS / (STEPS - dropped))


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


ROWS, GPU_ROWS = 512, 4096  # of logits at a time: enough for full speed, 62 MB each at 512 and 30,522 words


def lean_cross_entropy(hidden: Tensor, decoder: nn.Linear, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of decoder(hidden (M, H)) at labels (M,), and the share of rows whose largest
    logit is that of the label."""
    kind = hidden.device.type
    if torch.is_autocast_enabled(kind):
        hidden = hidden.to(torch.get_autocast_dtype(kind))
    with torch.autocast(kind, enabled=False):
        return LeanCrossEntropy.apply(hidden, decoder.weight, decoder.bias, labels, torch.is_grad_enabled())


class LeanCrossEntropy(torch.autograd.Function):
    """Cross-entropy of hidden (M, H) @ weight.T (H, V) + bias (V,). The gradients are made on the way forward, some
    rows at a time, so nothing of size M x V is kept. Products are in the type of `hidden`, sums in float32 or better.
    With M = 0 the loss is 0.

    With e = exp(logits - maximum) and z its sum over the vocabulary, the gradient by the logits is e / z - one-hot.
    Dividing the rows of `hidden` by z instead of those of e, and subtracting the one-hot part by index, touches the
    large array as seldom as possible: reading and writing it costs as much as the products.
    """

    @staticmethod
    def forward(
        ctx, hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, learns: bool
    ) -> tuple[Tensor, Tensor]:
        precise = torch.promote_types(weight.dtype, torch.float32)
        matrix, offsets, count = weight.to(hidden.dtype), bias.to(hidden.dtype), max(len(labels), 1)
        loss, right = torch.zeros(2, dtype=precise, device=hidden.device)
        gradients = Gradients(hidden, matrix, precise, count) if learns else None
        step = ROWS if hidden.device.type == "cpu" else GPU_ROWS
        for first in range(0, max(len(labels), 1), step):
            rows = slice(first, first + step)
            logits = torch.addmm(offsets, hidden[rows], matrix.T).to(precise)  # (C, H) -matrix-> (C, V)
            top, of_label = logits.amax(-1), logits.gather(1, labels[rows, None]).squeeze(1)  # (C,), (C,)
            e = logits.sub_(top[:, None]).exp_()
            z = e.sum(-1)  # (C,)
            loss += (z.log() + top - of_label).sum()
            right += (of_label == top).sum()
            if gradients:
                gradients.add(rows, e, z)
        if gradients:
            by_hidden, by_weight, by_bias = gradients.less_one_hot(labels)
            ctx.save_for_backward(by_hidden, by_weight.to(weight.dtype), by_bias.to(bias.dtype))
        ctx.mark_non_differentiable(right)
        return loss / count, right / count

    @staticmethod
    def backward(ctx, by_loss: Tensor, _) -> tuple[Tensor | None, ...]:
        gradients = ctx.saved_tensors
        if by_loss.device.type != "cpu" or by_loss != 1:  # elsewhere, to look at the number would stop the device
            gradients = tuple(gradient * by_loss.to(gradient.dtype) for gradient in gradients)
        return *gradients, None, None


class Gradients:
    """Those of the loss by hidden (M, H), weight (V, H) and bias (V,), added up some rows at a time."""

    def __init__(self, hidden: Tensor, matrix: Tensor, precise: torch.dtype, count: int):
        self.hidden, self.matrix, self.precise, self.count = hidden, matrix, precise, count
        self.by_hidden = torch.empty_like(hidden)
        self.by_weight = self.by_bias = None

    def add(self, rows: slice, e: Tensor, z: Tensor) -> None:
        """Those of softmax = e (C, V) / z (C,)."""
        share = 1 / (z * self.count)
        by_bias = e.T @ share
        e = e.to(self.hidden.dtype)
        self.by_hidden[rows] = (e @ self.matrix) * share[:, None]  # (C, V) @ (V, H) -> (C, H)
        by_weight = (e.T @ (self.hidden[rows] * share[:, None]).to(e.dtype)).to(self.precise)  # (V, C) @ (C, H)
        first = self.by_weight is None
        self.by_weight = by_weight if first else self.by_weight.add_(by_weight)
        self.by_bias = by_bias if first else self.by_bias.add_(by_bias)

    def less_one_hot(self, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All three, after the part of the labels is taken off."""
        share = 1 / self.count
        self.by_hidden.sub_(self.matrix[labels], alpha=share)
        self.by_weight.index_add_(0, labels, self.hidden.to(self.precise), alpha=-share)
        self.by_bias.index_add_(0, labels, self.by_bias.new_ones(len(labels)), alpha=-share)
        return self.by_hidden, self.by_weight, self.by_bias
