"""One training step: forward, backward, clip, update."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from bertlab.training.parts import Batch, Part, Shares

LossFunction = Callable[[nn.Module, Batch, Shares], tuple[Tensor, dict[str, Tensor]]]
Prepare = Callable[[Batch], Batch]  # what is done to a part of a batch before it goes to the device


def train_step(
    fabric,
    model,
    optimizers,
    parts: Sequence[Part],
    loss_function: LossFunction,
    rate: float,
    clip: float,
    prepare: Prepare | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """One step at learning rate `rate` on this process's parts of a batch; the gradient is that of the whole batch.

    Returns whether the gradient was finite (where it is not, the step changes nothing), and what was watched, summed
    over the parts. Both stay on the device: nothing here waits for it.
    """
    watched = add_gradients(fabric, model, parts, loss_function, prepare)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    finite = norm.isfinite()
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * group["lr_scale"]
        optimizer.optimizer.found_inf = 1.0 - finite.float()  # how PyTorch tells an optimizer to change nothing
        optimizer.step()
        optimizer.zero_grad()
    return finite, watched


def add_gradients(
    fabric, model, parts: Sequence[Part], loss_function: LossFunction, prepare: Prepare | None = None
) -> dict[str, Tensor]:
    """Forward and backward of one part after the other; the processes exchange gradients with the last one."""
    watched: dict[str, Tensor] = {}
    for number, (batch, shares) in enumerate(parts, start=1):
        batch = prepare(batch) if prepare else batch
        batch = {name: tensor.to(fabric.device, non_blocking=True) for name, tensor in batch.items()}
        with fabric.no_backward_sync(model, enabled=number < len(parts)):
            loss, figures = loss_function(model, batch, shares)
            fabric.backward(loss * fabric.world_size)  # for what is shared is the mean of the processes' gradients
        watched = {name: watched.get(name, 0) + figure.detach() for name, figure in figures.items()}
    return watched
