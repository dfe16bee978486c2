"""The training loop: the same for pretraining and fine-tuning, on a laptop and on a GPU.

The engine under it is lightning-fabric: it places model and batches on the device and sets the precision.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from bertlab.errors import InputError
from bertlab.training.optim import Optimization, make_optimizers, rate_factor

LossFunction = Callable[[nn.Module, dict[str, Tensor]], tuple[Tensor, dict[str, Tensor]]]


def make_fabric(device: str = "auto"):
    """Fabric on the best device that is there; products in bfloat16 where that is fast, all else in float32.

    InputError for a device that this machine does not have.
    """
    from lightning_fabric import Fabric

    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it reports its precision at every start
    try:
        return Fabric(accelerator=device, devices=1, precision="bf16-mixed" if bfloat16_is_fast(device) else None)
    except (RuntimeError, ValueError) as error:
        raise InputError(f"device={device!r} cannot be used on this machine: choose auto, cpu, cuda or mps") from error


def bfloat16_is_fast(device: str) -> bool:
    """On a GPU, and on a processor with instructions for it: training then takes half the time."""
    if device in ("auto", "cuda") and torch.cuda.is_available():
        return True
    on_cpu = device == "cpu" or (device == "auto" and not torch.backends.mps.is_available())
    return on_cpu and torch.cpu.get_capabilities().get("avx512_bf16", False)


def train(
    model: nn.Module,
    batches: Iterable[dict[str, Tensor]],
    loss_function: LossFunction,
    *,
    steps: int,
    settings: Optimization,
    minutes: float | None = None,
    log: Callable[[dict[str, float]], None] | None = None,
    log_every: int = 50,
    snapshot: Callable[[int], None] | None = None,
    snapshot_steps: Sequence[int] = (),
    progress: bool = True,
    device: str = "auto",
    seed: int = 0,
) -> list[dict[str, float]]:
    """Train `model` in place for `steps` steps, or until `minutes` are over; returns the rows that were logged.

    `loss_function(model, batch)` gives the loss and tensors to watch (means are taken). Each row also has step,
    learning_rate, seconds and tokens_per_second (tokens that are not padding); the last row tells of the steps
    since the row before. Ctrl-C ends the training early and keeps what was learned. `seed` is for dropout.

    InputError for steps or log_every below 1, and where a loss is no longer a number.
    """
    for name, value in {"steps": steps, "log_every": log_every}.items():
        if value < 1:
            raise InputError(f"{name}={value}: must be at least 1")
    fabric = make_fabric(device)
    wrapped, *optimizers = fabric.setup(model, *make_optimizers(model, settings))
    wrapped.train()
    meter, start = Meter(), time.perf_counter()
    if snapshot and 0 in snapshot_steps:
        snapshot(0)
    bar = tqdm(total=steps, unit="step", disable=not progress, mininterval=0.5)
    with bar, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        with suppress(KeyboardInterrupt):
            for step, batch in enumerate(islice(batches, steps), start=1):
                elapsed = (time.perf_counter() - start) / 60
                done = max((step - 0.5) / steps, elapsed / minutes if minutes else 0.0)
                if done >= 1:
                    break
                rate = settings.learning_rate * rate_factor(done, settings.warmup)
                batch = {key: value.to(fabric.device) for key, value in batch.items()}
                watched = train_step(fabric, wrapped, optimizers, batch, loss_function, rate, settings.clip)
                meter.add(step, rate, watched, batch)
                bar.update()
                if step % log_every == 0:
                    report(meter, bar, log)
                if snapshot and step in snapshot_steps:
                    snapshot(step)
        with suppress(KeyboardInterrupt):
            report(meter, bar, log)
    model.to("cpu").eval()
    return meter.rows


def train_step(
    fabric, model, optimizers, batch, loss_function: LossFunction, rate: float, clip: float
) -> dict[str, Tensor]:
    """Forward, backward, clip, update: one step at learning rate `rate`; returns what was watched."""
    loss, watched = loss_function(model, batch)
    fabric.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad()
    return watched


def report(meter: "Meter", bar: tqdm, log: Callable[[dict[str, float]], None] | None) -> None:
    """Show and log the steps since the last row, if there are any."""
    if not meter.pending:
        return
    row = meter.row()
    lost = [name for name in meter.names if name.endswith("loss") and not math.isfinite(row[name])]
    if lost:
        raise InputError(f"the training diverged: {lost[0]} is no number by step {row['step']}; lower learning_rate")
    figures = {key: f"{row[key]:.3g}" for key in meter.names}
    bar.set_postfix(figures | {"tok/s": f"{row['tokens_per_second']:,.0f}"})
    if log:
        log(row)


class Meter:
    """Means of what was watched since the last row, and the speed. Reads the device only when a row is made."""

    def __init__(self):
        self.rows: list[dict[str, float]] = []
        self.names: list[str] = []
        self._start = self._last = time.perf_counter()
        self._clear()

    def _clear(self):
        self._watched: list[dict[str, Tensor]] = []
        self._tokens: list[Tensor] = []

    @property
    def pending(self) -> bool:
        return bool(self._watched)

    def add(self, step: int, rate: float, watched: dict[str, Tensor], batch: dict[str, Tensor]) -> None:
        self._step, self._rate = step, rate
        self._watched.append({key: value.detach() for key, value in watched.items()})
        self._tokens.append(batch["attention_mask"].sum())

    def row(self) -> dict[str, float]:
        self.names = list(self._watched[0])
        means = {key: float(torch.stack([w[key].float() for w in self._watched]).mean()) for key in self.names}
        now = time.perf_counter()
        speed = float(sum(self._tokens)) / (now - self._last)
        self._last = now
        self._clear()
        timing = {"seconds": now - self._start, "tokens_per_second": speed}
        self.rows.append({"step": self._step, **means, "learning_rate": self._rate, **timing})
        return self.rows[-1]
