"""The training loop and its step: the same for pretraining and fine-tuning, on a laptop, on a GPU and on many.

Every process sees the whole batch of every step and works on its part of it; so what is learned does not depend on
their number. The engine under it is lightning-fabric: it places model and batches on the device, sets the precision and
lets the processes exchange their gradients.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from bertlab.errors import InputError
from bertlab.training.engine.callbacks import Receivers
from bertlab.training.engine.checkpoints import State, between_steps, restore, whole_state
from bertlab.training.engine.devices import make_fabric
from bertlab.training.engine.micro_batches import Batch, Part, Shares, own_parts
from bertlab.training.engine.optim import Optimization, make_optimizers, rate_factor
from bertlab.training.engine.throughput import Meter

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


LOOK_EVERY = 10  # steps between two looks at the device and at the other processes: each makes them wait


def train(
    model: nn.Module,
    batches: Iterable[Batch],
    loss_function: LossFunction,
    *,
    steps: int,
    settings: Optimization,
    minutes: float | None = None,
    micro_batch: int | None = None,
    prepare: Prepare | None = None,
    operations: Callable[[Batch], float] | None = None,
    log: Callable[[dict[str, float]], None] | None = None,
    log_every: int = 50,
    snapshot: Callable[[int], None] | None = None,
    snapshot_steps: Sequence[int] = (),
    save: Callable[[State | None, bool], None] | None = None,
    save_every: int = 500,
    resume: State | None = None,
    progress: bool = True,
    fabric=None,
    seed: int = 0,
) -> list[dict[str, float]]:
    """Train `model` in place for `steps` steps, or until `minutes` are over; returns the rows that were logged.

    `loss_function(model, batch, shares)` gives the loss and tensors to watch, each mean over labels times the share of
    these labels that the batch holds (see parts.py). `micro_batch` limits the rows that a device works on at a time;
    `prepare` may add to these rows, still on the CPU, what the model wants to know of them.
    Each row has the means of what was watched, step, learning_rate, seconds, tokens_per_second (tokens that are not
    padding), wait_share (of the time, waiting for batches) and, with `operations`, which counts what a batch needs,
    utilisation (see flops.py); the last row tells of the steps since the row before. `seed` is for dropout.

    `fabric` is launched already (None: the best device that is there). With several processes all of them call this
    function with the same arguments; `log`, `snapshot`, `save` and the progress bar are the first one's alone.

    At the start, every `save_every` steps and at the end `save(state, False)` gets all that is needed to go on: give
    such a state as `resume`, and `batches` that begin with the step after it. Ctrl-C ends the training after the step
    at hand (on a GPU or in several processes, after one of the next ten), calls `save(state, True)` and keeps what was
    learned; a second one ends it at once: `save(None, True)`.

    A step whose gradient is not finite is skipped. InputError for steps, log_every, save_every or micro_batch below 1,
    and after 10 skipped steps in a row; `save(state, True)` is called before, with the last batch in the state.
    """
    check(steps=steps, log_every=log_every, save_every=save_every, micro_batch=micro_batch)
    if minutes is not None and minutes <= 0:
        raise InputError(f"minutes={minutes}: must be above 0")
    fabric = fabric or make_fabric()
    wrapped, *optimizers = fabric.setup(model, *make_optimizers(model, settings))
    wrapped.train()
    meter = Meter(fabric, operations)
    if not fabric.is_global_zero:
        log, snapshot, save, progress = None, None, None, False
    start = restore(resume, wrapped, optimizers, meter) if resume else 0
    bar = tqdm(total=steps, initial=start, unit="step", disable=not progress, mininterval=0.5)
    state = partial(whole_state, wrapped, optimizers, meter)
    receivers = Receivers(meter, state, bar, log, log_every, snapshot, snapshot_steps, save, save_every)
    with torch.random.fork_rng(devices=[]), between_steps() as pressed, bar:
        if start == 0:
            receivers.at_start()
        agreed, interrupted = Agreement(fabric, meter, pressed, minutes), True
        with suppress(KeyboardInterrupt):
            for step, rate, batch in planned(meter.waited_for(batches), start, steps, settings, agreed):
                torch.manual_seed(dropout_seed(seed, step, fabric.global_rank))
                parts = own_parts(batch, fabric.global_rank, fabric.world_size, micro_batch)
                seen = train_step(fabric, wrapped, optimizers, parts, loss_function, rate, settings.clip, prepare)
                meter.add(step, rate, batch, *seen)
                agreed.after(step)
                receivers.after(step, batch, step == steps, agreed.ended)
            interrupted = False
        if interrupted and save:
            save(None, True)
        if fabric.world_size == 1 or not interrupted:  # else the others may be at another step
            with suppress(KeyboardInterrupt):
                receivers.report()
    model.to("cpu").eval()
    if meter.diverged:
        fabric.barrier()  # a process that fails takes the first one with it, which may still be saving
        raise InputError(
            f"the training diverged: no finite gradient in the {meter.skipped_in_a_row} steps up to {meter.step}, "
            f"at a learning rate of {meter.rate:.2g}; lower learning_rate"
        )
    return meter.rows


def check(**counts: int | None) -> None:
    for name, value in counts.items():
        if value is not None and value < 1:
            raise InputError(f"{name}={value}: must be at least 1")


def planned(
    batches: Iterable[Batch], start: int, steps: int, settings: Optimization, agreed: "Agreement"
) -> Iterator[tuple[int, float, Batch]]:
    """The steps after `start` with their learning rates and batches, until all are done or it is agreed to end."""
    for step, batch in enumerate(islice(batches, steps - start), start=start + 1):
        done = max((step - 0.5) / steps, agreed.gone(step))
        if done >= 1:
            return
        yield step, settings.learning_rate * rate_factor(done, settings.warmup), batch
        if agreed.ended:
            return


def dropout_seed(seed: int, step: int, rank: int) -> int:
    """A step draws the same whenever it is made, and every process something else."""
    return random.Random(f"{seed} {step} {rank}").getrandbits(63)


class Agreement:
    """What all processes must know alike: whether to end, and how much of `minutes` is gone.

    To find out they wait for each other and for their devices, so they ask but now and then. One process on the CPU
    waits for nobody and asks after every step.
    """

    def __init__(self, fabric, meter: Meter, pressed: Callable[[], bool], minutes: float | None):
        self._fabric, self._meter, self._pressed, self._minutes = fabric, meter, pressed, minutes
        self._every = 1 if fabric.device.type == "cpu" and fabric.world_size == 1 else LOOK_EVERY
        self._asked, self._gone, self._pace = 0, 0.0, 0.0  # after which step; how much was gone; how much a step takes
        self._ask(0)

    def after(self, step: int) -> None:
        if step % self._every == 0:
            self._ask(step)

    def gone(self, step: int) -> float:
        """How much of the time is gone before `step`, as it went between the last two answers."""
        return self._gone + (step - 1 - self._asked) * self._pace

    @property
    def ended(self) -> bool:
        return self._stopped or self._meter.diverged

    def _ask(self, step: int) -> None:
        self._meter.gather()
        gone = self._meter.seconds() / 60 / self._minutes if self._minutes else 0.0
        answers = torch.tensor([float(self._pressed()), gone])
        stopped, gone = self._fabric.all_reduce(answers, reduce_op="max").tolist()
        self._pace = (gone - self._gone) / (step - self._asked) if 0 < self._asked < step else 0.0
        self._stopped, self._asked, self._gone = stopped > 0, step, gone
