"""The training loop and its step: the same for pretraining and fine-tuning, on a laptop, on a GPU and on many.

Every process sees the whole batch of every step and works on its part of it, so their number does not change what is
learned. devices.py places model and batches on the device, sets the precision, and exchanges the gradients between the
processes.
"""

import random
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from tqdm.auto import tqdm

from bertlab.errors import InputError, at_least_one
from bertlab.training.engine.callbacks import Callbacks, Reporter
from bertlab.training.engine.checkpoints import State, restore, training_state
from bertlab.training.engine.devices import Devices, Wrapped
from bertlab.training.engine.micro_batches import Batch, MicroBatch, Shares, own_micro_batches
from bertlab.training.engine.optim import Optimization, make_optimizers, rate_factor, step_if_finite
from bertlab.training.engine.signals import deferred_signals, remember
from bertlab.training.engine.throughput import Row, TrainingLog

LossFunction = Callable[[nn.Module, Batch, Shares], tuple[Tensor, dict[str, Tensor]]]
Prepare = Callable[[Batch], Batch]  # what is done to a micro-batch before it goes to the device


def train_step(
    model: Wrapped,
    optimizers: Sequence[Optimizer],
    micro_batches: Sequence[MicroBatch],
    loss_function: LossFunction,
    rate: float,
    clip: float,
    prepare: Prepare | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Take one step at learning rate `rate` on this process's micro-batches, by the gradient of the whole batch.

    Returns whether the gradient was finite (if not, the weights stay as they are), and the watched figures, summed
    over the micro-batches. Both stay on the device: nothing here waits for a GPU.
    """
    watched = add_gradients(model, micro_batches, loss_function, prepare)
    finite = torch.nn.utils.clip_grad_norm_(model.parameters(), clip).isfinite()
    for group in (group for optimizer in optimizers for group in optimizer.param_groups):
        group["lr"] = rate * group["lr_scale"]
    step_if_finite(optimizers, finite)
    for optimizer in optimizers:
        optimizer.zero_grad()
    return finite, watched


def add_gradients(
    model: Wrapped,
    micro_batches: Sequence[MicroBatch],
    loss_function: LossFunction,
    prepare: Prepare | None = None,
) -> dict[str, Tensor]:
    """Run forward and backward on each micro-batch; the processes exchange gradients with the last one."""
    watched: dict[str, Tensor] = {}
    devices = model.devices
    for number, (batch, shares) in enumerate(micro_batches, start=1):
        batch = prepare(batch) if prepare else batch
        batch = {name: tensor.to(devices.device, non_blocking=True) for name, tensor in batch.items()}
        with model.no_sync() if number < len(micro_batches) else nullcontext():
            loss, figures = loss_function(model, batch, shares)
            (loss * devices.world_size).backward()  # for what is shared is the mean of the processes' gradients
        watched = {name: watched.get(name, 0) + figure.detach() for name, figure in figures.items()}
    return watched


@dataclass(frozen=True)
class LoopSettings:
    """How long, how fast and in what portions a model is trained."""

    steps: int
    optim: Optimization
    minutes: float | None = None  # end earlier, with the learning rate brought down in time
    micro_batch: int | None = None  # rows that a device works on at a time
    seed: int = 0  # of dropout
    progress: bool = True  # show a progress bar

    def __post_init__(self) -> None:
        at_least_one(steps=self.steps, micro_batch=self.micro_batch)
        if self.minutes is not None and self.minutes <= 0:
            raise InputError(f"minutes={self.minutes}: must be above 0")


def train(
    model: nn.Module,
    batches: Iterable[Batch],
    loss_function: LossFunction,
    settings: LoopSettings,
    callbacks: Callbacks = Callbacks(),  # noqa: B008 (frozen, so safe to share)
    *,
    prepare: Prepare | None = None,
    operations: Callable[[Batch], float] | None = None,
    resume: State | None = None,
    devices: Devices | None = None,
) -> list[Row]:
    """Train `model` in place and return the rows that were logged.

    `loss_function(model, batch, shares)` returns the loss and tensors to watch. Each is a mean over labels times the
    share of these labels that the batch holds (see micro_batches.py). `prepare` may add to a micro-batch, still on the
    CPU, what the model needs to know of it.

    Each row has the means of the watched tensors, step, learning_rate, seconds, tokens_per_second (without padding),
    wait_share (of the time, waiting for batches) and, if `operations` counts what a batch needs, utilisation. The last
    row covers the steps since the row before.

    `devices` are connected already (None: the best device there is). With several processes all of them call this
    function with the same arguments; callbacks and the progress bar are the first one's alone.

    `save(state, False)` is called at the start, every `save_every` steps and at the end. To go on from such a state,
    give it as `resume`, and `batches` that begin with the step after it. Ctrl-C, SIGTERM and SIGUSR1 end the training
    after the present step (on a GPU or in several processes, after one of the next ten), call `save(state, True)` and
    keep what was learned. A second Ctrl-C ends it at once: `save(None, True)`.

    A step whose gradient is not finite is skipped. After 10 of them in a row comes `save(state, True)`, with the last
    batch in the state, and then an InputError.
    """
    devices = devices or Devices().settle()
    products = torch.bfloat16 if devices.in_bfloat16 else None
    wrapped = devices.wrap(model.train())
    optimizers = make_optimizers(model, settings.optim, products)
    training = TrainingLog(devices, operations)
    if not devices.is_first:
        callbacks, settings = replace(callbacks, log=None, snapshot=None, save=None), replace(settings, progress=False)
    start = restore(resume, model, optimizers, training) if resume else 0
    limit = settings.minutes and f"for {settings.minutes:g} minutes"  # the bar cannot know at which step they are over
    bar = tqdm(
        desc=limit, total=settings.steps, initial=start, unit="step", disable=not settings.progress, mininterval=0.5
    )
    reporter = Reporter(callbacks, training, partial(training_state, model, optimizers, training), bar)
    with torch.random.fork_rng(devices=[]), deferred_signals() as received, bar:
        if start == 0:
            reporter.at_start()
        synced, interrupted = SyncedStatus(devices, training, received, settings.minutes), True
        with suppress(KeyboardInterrupt):
            for step, rate, batch in planned(training.timed(batches), start, settings, synced):
                torch.manual_seed(dropout_seed(settings.seed, step, devices.rank))
                own = own_micro_batches(batch, devices.rank, devices.world_size, settings.micro_batch)
                done = train_step(wrapped, optimizers, own, loss_function, rate, settings.optim.clip, prepare)
                training.add(step, rate, batch, *done)
                synced.after(step)
                reporter.after(step, batch, step == settings.steps, synced.ended)
            interrupted = False
        late = not interrupted and not synced.ended and received()  # in or after the last step: its state is saved
        if interrupted or late:
            remember(late or signal.SIGINT)
            if callbacks.save:
                callbacks.save(None, True)
        if devices.world_size == 1 or not interrupted:  # else the others may be at another step
            with suppress(KeyboardInterrupt):
                reporter.report()
    model.to("cpu").eval()
    check_converging(devices, training)
    return training.rows


def check_converging(devices: Devices, training: TrainingLog) -> None:
    """Raise an InputError, in all processes, if the last steps had no finite gradient."""
    if training.diverged:
        devices.barrier()  # a process that fails takes the first one with it, which may still be saving
        raise InputError(
            f"the training diverged: no finite gradient in the {training.skipped_in_a_row} steps up to "
            f"{training.step}, at a learning rate of {training.rate:.2g}; lower learning_rate"
        )


def planned(
    batches: Iterable[Batch], start: int, settings: LoopSettings, synced: "SyncedStatus"
) -> Iterator[tuple[int, float, Batch]]:
    """Yield the steps after `start` with their learning rates and batches, until all are done or a stop is agreed."""
    for step, batch in enumerate(islice(batches, max(0, settings.steps - start)), start=start + 1):
        done = max((step - 0.5) / settings.steps, synced.elapsed(step))
        if done >= 1:
            return
        yield step, settings.optim.learning_rate * rate_factor(done, settings.optim.warmup), batch
        if synced.ended:
            return


def dropout_seed(seed: int, step: int, rank: int) -> int:
    """Return a seed that depends on these three alone: a repeated step draws the same, another process draws anew."""
    return random.Random(f"{seed} {step} {rank}").getrandbits(63)


SYNC_EVERY = 10  # steps between two exchanges of the status: each makes processes and devices wait


class SyncedStatus:
    """The signal to stop and the elapsed share of `minutes`, synchronised across ranks.

    The exchange waits for all ranks and their devices, so it happens every few steps. One process on the CPU waits for
    nobody and asks after every step.
    """

    def __init__(
        self, devices: Devices, training: TrainingLog, received: Callable[[], int], minutes: float | None
    ) -> None:
        self._devices, self._training, self._received, self._minutes = devices, training, received, minutes
        self._every = 1 if devices.device.type == "cpu" and devices.world_size == 1 else SYNC_EVERY
        self._synced, self._elapsed, self._pace = 0, 0.0, 0.0  # last synced step; elapsed share then; share per step
        self._sync(0)

    def after(self, step: int) -> None:
        if step % self._every == 0:
            self._sync(step)

    def elapsed(self, step: int) -> float:
        """Return the elapsed share of the time before `step`, at the pace between the last two exchanges."""
        return self._elapsed + (step - 1 - self._synced) * self._pace

    @property
    def ended(self) -> bool:
        return self._stopped or self._training.diverged

    def _sync(self, step: int) -> None:
        self._training.gather()
        elapsed = self._training.seconds() / 60 / self._minutes if self._minutes else 0.0
        own = torch.tensor([float(self._received()), elapsed])
        stopped, elapsed = self._devices.all_reduce(own, maximum=True).tolist()
        if stopped:
            remember(int(stopped))
        self._pace = (elapsed - self._elapsed) / (step - self._synced) if 0 < self._synced < step else 0.0
        self._stopped, self._synced, self._elapsed = stopped > 0, step, elapsed
