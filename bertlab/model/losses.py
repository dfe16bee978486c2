"""The losses: cross-entropy over what counts, and that of masked words without all the logits at once."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, MOST
from bertlab.model.attend import ROWS
from bertlab.model.base import check_labels, without_autocast

CPU_ROWS, GPU_ROWS = 512, 4096  # of logits at a time: enough for full speed, 62 MB each at 512 and 30,522 words


def class_loss(logits: Tensor, labels: Tensor | None, reason: str, name: str = "labels") -> Tensor | None:
    """Check the labels (...) and return the mean cross-entropy of logits (..., N) over those that are not ignored."""
    if labels is None:
        return None
    check_labels(name, labels, logits.shape[:-1], logits.size(-1), reason)
    return mean_cross_entropy(logits, labels)


def total(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """Return the sum of those losses that there are."""
    return one + other if one is not None and other is not None else other if one is None else one


def span_loss(logits: Tensor, positions: Tensor, name: str) -> Tensor:
    """Return the cross-entropy of one end of the answer, logits (B, S): the classes are the tokens."""
    tokens, positions = logits.size(1), positions.squeeze(-1) if positions.dim() > 1 else positions  # (B, 1) -> (B,)
    check_labels(name, positions, logits.shape[:1], int(MOST["max_position_embeddings"]), "0 is [CLS]: no answer")
    return mean_cross_entropy(logits, positions.clamp(max=tokens).where(positions != IGNORED, tokens), ignored=tokens)


def mean_cross_entropy(logits: Tensor, targets: Tensor, ignored: int = IGNORED) -> Tensor:
    """Return the mean over the targets (...) that count, of logits (..., C); 0, not nan, where none does."""
    # (..., C) -flatten-> (M, C), (...) -flatten-> (M,)
    total = F.cross_entropy(logits.flatten(0, -2), targets.flatten().long(), ignore_index=ignored, reduction="sum")
    return total / (targets != ignored).sum().clamp(min=1)


def lean_cross_entropy(hidden: Tensor, decoder: nn.Linear, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of decoder(hidden (M, H)) at labels (M,), and the accuracy: the share of rows whose
    largest logit is that of the label."""
    kind = hidden.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        hidden = hidden.to(torch.get_autocast_dtype(kind))
    with without_autocast(hidden.device):
        return LeanCrossEntropy.apply(hidden, decoder.weight, decoder.bias, labels, torch.is_grad_enabled())


def portions(count: int, step: int, even: int) -> Iterator[slice]:
    """Yield slices of `step` rows, one of as many rows as are left in multiples of `even`, and the rest.

    The last is there, empty, even if there is nothing.
    """
    whole = count - count % even
    for first in range(0, whole, step):
        yield slice(first, min(first + step, whole))
    if count > whole or count == 0:
        yield slice(whole, count)


class LeanCrossEntropy(torch.autograd.Function):
    """Cross-entropy of hidden (M, H) @ weight.T (H, V) + bias (V,) that keeps nothing of size M x V.

    The gradients are made on the way forward, some rows at a time. Products are in the type of `hidden`, sums in
    float32 or better. With M = 0 the loss is 0.

    With e = exp(logits - maximum) and z its sum over the vocabulary, the gradient by the logits is e / z - one-hot.
    Dividing the rows of `hidden` by z instead of those of e, and subtracting the one-hot part by index, touches the
    large array as seldom as possible: reading and writing it costs as much as the products.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, learns: bool
    ) -> tuple[Tensor, Tensor]:
        precise = torch.promote_types(weight.dtype, torch.float32)
        matrix, offsets, count = weight.to(hidden.dtype), bias.to(hidden.dtype), max(len(labels), 1)
        loss, right = torch.zeros(2, dtype=precise, device=hidden.device)
        gradients = Gradients(hidden, matrix, precise, count) if learns else None
        sizes = (CPU_ROWS, ROWS) if hidden.device.type == "cpu" else (GPU_ROWS, 1)
        for rows in portions(len(labels), *sizes):
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
    def backward(ctx: Any, *by_outputs: Tensor) -> tuple[Tensor | None, ...]:
        by_loss, gradients = by_outputs[0], ctx.saved_tensors
        if by_loss.device.type != "cpu" or by_loss != 1:  # elsewhere, to look at the number would stop the device
            gradients = tuple(gradient * by_loss.to(gradient.dtype) for gradient in gradients)
        return *gradients, None, None


class Gradients:
    """The gradients of the loss by hidden (M, H), weight (V, H) and bias (V,), added up some rows at a time."""

    by_weight: Tensor
    by_bias: Tensor

    def __init__(self, hidden: Tensor, matrix: Tensor, precise: torch.dtype, count: int):
        self.hidden, self.matrix, self.precise, self.count = hidden, matrix, precise, count
        self.by_hidden = torch.empty_like(hidden)

    def add(self, rows: slice, e: Tensor, z: Tensor) -> None:
        """Add those of softmax = e (C, V) / z (C,)."""
        share = 1 / (z * self.count)
        by_bias = e.T @ share
        e = e.to(self.hidden.dtype)
        self.by_hidden[rows] = (e @ self.matrix) * share[:, None]  # (C, V) @ (V, H) -> (C, H)
        by_weight = (e.T @ (self.hidden[rows] * share[:, None]).to(e.dtype)).to(self.precise)  # (V, C) @ (C, H)
        if rows.start == 0:
            self.by_weight, self.by_bias = by_weight, by_bias
        else:
            self.by_weight += by_weight
            self.by_bias += by_bias

    def less_one_hot(self, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Subtract the part of the labels and return all three."""
        share = 1 / self.count
        self.by_hidden.sub_(self.matrix[labels], alpha=share)
        self.by_weight.index_add_(0, labels, self.hidden.to(self.precise), alpha=-share)
        self.by_bias.index_add_(0, labels, self.by_bias.new_ones(len(labels)), alpha=-share)
        return self.by_hidden, self.by_weight, self.by_bias
