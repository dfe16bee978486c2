"""The loss of masked words without ever holding all their logits, which for a large vocabulary are most of a step."""

import torch
from torch import Tensor, nn

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
        gradients = Gradients(hidden, weight, bias, precise) if learns else None
        step = ROWS if hidden.device.type == "cpu" else GPU_ROWS
        for first in range(0, len(labels), step):
            rows = slice(first, first + step)
            logits = torch.addmm(offsets, hidden[rows], matrix.T).to(precise)  # (C, H) -matrix-> (C, V)
            top, of_label = logits.amax(-1), logits.gather(1, labels[rows, None]).squeeze(1)  # (C,), (C,)
            e = logits.sub_(top[:, None]).exp_()
            z = e.sum(-1)  # (C,)
            loss += (z.log() + top - of_label).sum()
            right += (of_label == top).sum()
            if gradients:
                gradients.add(rows, e, z, matrix)
        if gradients:
            ctx.save_for_backward(*gradients.finish(labels, matrix))
        ctx.mark_non_differentiable(right)
        ctx.count = count
        return loss / count, right / count

    @staticmethod
    def backward(ctx, by_loss: Tensor, _) -> tuple[Tensor | None, ...]:
        scale = by_loss / ctx.count
        return *(gradient * scale.to(gradient.dtype) for gradient in ctx.saved_tensors), None, None


class Gradients:
    """Those of the summed loss by hidden (M, H), weight (V, H) and bias (V,), added up some rows at a time."""

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor, precise: torch.dtype):
        self.hidden, self.types = hidden, (weight.dtype, bias.dtype)
        self.by_hidden = torch.empty_like(hidden)
        self.by_weight, self.by_bias = torch.zeros_like(weight, dtype=precise), torch.zeros_like(bias, dtype=precise)

    def add(self, rows: slice, e: Tensor, z: Tensor, matrix: Tensor) -> None:
        """Those of softmax = e (C, V) / z (C,)."""
        share = 1 / z
        self.by_bias.addmv_(e.T, share)
        e = e.to(matrix.dtype)
        self.by_hidden[rows] = (e @ matrix) * share[:, None]  # (C, V) @ (V, H) -> (C, H)
        scaled = (self.hidden[rows] * share[:, None]).to(e.dtype)
        if e.dtype == self.by_weight.dtype:
            self.by_weight.addmm_(e.T, scaled)  # (V, C) @ (C, H) -> (V, H)
        else:
            self.by_weight += e.T @ scaled

    def finish(self, labels: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All three, after the one-hot part is taken off."""
        self.by_hidden -= matrix[labels]
        self.by_weight.index_add_(0, labels, self.hidden.to(self.by_weight.dtype), alpha=-1)
        self.by_bias.index_add_(0, labels, self.by_bias.new_ones(len(labels)), alpha=-1)
        return self.by_hidden, self.by_weight.to(self.types[0]), self.by_bias.to(self.types[1])
