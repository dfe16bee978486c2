"""The loss of masked words without ever holding all their logits, which for a large vocabulary are most of a step."""

import torch
from torch import Tensor, nn

ROWS, GPU_ROWS = 256, 4096  # of logits at a time: enough for full speed, 31 MB each at 256 and 30,522 words


def lean_cross_entropy(hidden: Tensor, decoder: nn.Linear, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy of decoder(hidden (M, H)) at labels (M,), and the share whose likeliest class is the label."""
    kind = hidden.device.type
    if torch.is_autocast_enabled(kind):
        hidden = hidden.to(torch.get_autocast_dtype(kind))
    with torch.autocast(kind, enabled=False):
        return LeanCrossEntropy.apply(hidden, decoder.weight, decoder.bias, labels)


class LeanCrossEntropy(torch.autograd.Function):
    """Cross-entropy of hidden (M, H) @ weight.T (H, V) + bias (V,); the gradients are made along the way, some rows
    at a time, so that nothing of size M x V is kept. Products are in the type of `hidden`, sums in float32 or better.
    With M = 0 the loss is 0.
    """

    @staticmethod
    def forward(ctx, hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        precise = torch.promote_types(weight.dtype, torch.float32)
        scores, offsets, count = weight.to(hidden.dtype), bias.to(hidden.dtype), max(len(labels), 1)
        loss, right = torch.zeros(2, dtype=precise, device=hidden.device)
        by_hidden = torch.empty_like(hidden)  # (M, H)
        by_weight, by_bias = torch.zeros_like(weight, dtype=precise), torch.zeros_like(bias, dtype=precise)
        step = ROWS if hidden.device.type == "cpu" else GPU_ROWS
        for first in range(0, len(labels), step):
            rows = slice(first, first + step)
            label = labels[rows, None]  # (C, 1)
            probabilities = torch.addmm(offsets, hidden[rows], scores.T).softmax(-1, dtype=precise)  # (C, V)
            of_label = probabilities.gather(1, label)
            right += (of_label == probabilities.amax(-1, keepdim=True)).sum()
            loss -= of_label.clamp(min=torch.finfo(precise).tiny).log().sum()  # 87 nats at most in float32
            # the gradient of the cross-entropy by the logits: softmax - one-hot
            difference = probabilities.scatter_add_(1, label, label.new_full(label.shape, -1.0, dtype=precise))
            by_bias += difference.sum(0)
            difference = difference.to(hidden.dtype)
            by_hidden[rows] = difference @ scores
            by_weight += difference.T @ hidden[rows]
        ctx.save_for_backward(by_hidden, by_weight.to(weight.dtype), by_bias.to(bias.dtype))
        ctx.mark_non_differentiable(right)
        ctx.count = count
        return loss / count, right / count

    @staticmethod
    def backward(ctx, by_loss: Tensor, _) -> tuple[Tensor | None, ...]:
        scale = by_loss / ctx.count
        return *(scale.to(gradient.dtype) * gradient for gradient in ctx.saved_tensors), None
