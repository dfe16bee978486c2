"""The training loop: the same for pretraining and fine-tuning, on a laptop and on a GPU.

The engine under it is lightning-fabric: it places model and batches on the device and sets the precision.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from statistics import fmean

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from bertlab.errors import InputError
from bertlab.training.allocator import keep_memory
from bertlab.training.optim import Optimization, make_optimizers, rate_factor
from bertlab.training.resume import State, between_steps

MOST_SKIPPED = 10  # steps in a row without a finite gradient: it will not get better
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
    save: Callable[[State | None, bool], None] | None = None,
    save_every: int = 500,
    resume: State | None = None,
    progress: bool = True,
    device: str = "auto",
    seed: int = 0,
) -> list[dict[str, float]]:
    """Train `model` in place for `steps` steps, or until `minutes` are over; returns the rows that were logged.

    `loss_function(model, batch)` gives the loss and tensors to watch (means are taken). Each row also has step,
    learning_rate, seconds and tokens_per_second (tokens that are not padding); the last row tells of the steps
    since the row before. `seed` is for dropout.

    At the start, every `save_every` steps and at the end `save(state, False)` gets all that is needed to go on: give
    such a state as `resume`, and `batches` that begin with the step after it. Ctrl-C ends the training after the step
    at hand, calls `save(state, True)` and keeps what was learned; a second one ends it at once: `save(None, True)`.

    A step whose gradient is not finite is skipped. InputError for steps, log_every or save_every below 1, and after
    10 skipped steps in a row; `save(state, True)` is called before, with the last batch in the state.
    """
    for name, value in {"steps": steps, "log_every": log_every, "save_every": save_every}.items():
        if value < 1:
            raise InputError(f"{name}={value}: must be at least 1")
    fabric = make_fabric(device)
    keep_memory()
    wrapped, *optimizers = fabric.setup(model, *make_optimizers(model, settings))
    wrapped.train()
    meter, interrupted = Meter(), False
    with torch.random.fork_rng(devices=[]), between_steps() as stopped:
        torch.manual_seed(seed)
        start = restore(resume, wrapped, optimizers, meter) if resume else 0
        if snapshot and start == 0 and 0 in snapshot_steps:
            snapshot(0)
        if save and start == 0:  # from now on the run can be resumed
            save(whole_state(0, wrapped, optimizers, meter), False)
        bar = tqdm(total=steps, initial=start, unit="step", disable=not progress, mininterval=0.5)
        with bar, suppress(KeyboardInterrupt):
            interrupted = True  # unless the loop ends by itself
            for step, batch in enumerate(islice(batches, steps - start), start=start + 1):
                done = max((step - 0.5) / steps, meter.seconds() / 60 / minutes if minutes else 0.0)
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
                ended = stopped() or meter.diverged
                if save and (ended or step == steps or step % save_every == 0):
                    state = whole_state(step, wrapped, optimizers, meter)
                    save(state | {"batch": batch} if meter.diverged else state, ended)
                if ended:
                    break
            interrupted = False
        if save and interrupted:
            save(None, True)
        with suppress(KeyboardInterrupt):
            report(meter, bar, log)
    model.to("cpu").eval()
    if meter.diverged:
        raise InputError(
            f"the training diverged: no finite gradient in the {MOST_SKIPPED} steps up to {step}, "
            f"at a learning rate of {rate:.2g}; lower learning_rate"
        )
    return meter.rows


def whole_state(step: int, model, optimizers, meter: "Meter") -> State:
    """All that the steps after this one depend on, and the rows logged so far."""
    return {
        "step": step,
        "model": model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
        "random": [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])],
        **meter.state(),
    }


def restore(state: State, model, optimizers, meter: "Meter") -> int:
    """Put everything back as `whole_state` found it; returns the step."""
    model.load_state_dict(state["model"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    torch.set_rng_state(state["random"][0])
    if torch.cuda.is_available() and len(state["random"]) > 1:
        torch.cuda.set_rng_state_all(state["random"][1:])
    meter.go_on(state)
    return state["step"]


def train_step(
    fabric, model, optimizers, batch, loss_function: LossFunction, rate: float, clip: float
) -> dict[str, Tensor] | None:
    """Forward, backward, clip, update: one step at learning rate `rate`; returns what was watched.

    A gradient that is not finite changes nothing, and nothing is returned.
    """
    loss, watched = loss_function(model, batch)
    fabric.backward(loss)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    finite = math.isfinite(norm)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate
        if finite:
            optimizer.step()
        optimizer.zero_grad()
    return watched if finite else None


def report(meter: "Meter", bar: tqdm, log: Callable[[dict[str, float]], None] | None) -> None:
    """Show and log the steps since the last row, if there are any."""
    if not meter.pending:
        return
    row = meter.row()
    figures = {key: f"{row[key]:.3g}" for key in meter.names}
    skipped = {"skipped": meter.skipped} if meter.skipped else {}
    bar.set_postfix(figures | {"tok/s": f"{row['tokens_per_second']:,.0f}"} | skipped)
    if log:
        log(row)


class Meter:
    """Means of what was watched since the last row, and the speed. Reads the device only when a row is made."""

    def __init__(self):
        self.rows: list[dict[str, float]] = []
        self.names: list[str] = []
        self.skipped = self._in_a_row = self._step = 0
        self._rate = 0.0
        self._start = self._last = time.perf_counter()
        self._clear()

    def _clear(self):
        self._watched: list[dict[str, Tensor | float]] = []
        self._tokens: list[Tensor | int] = []

    def state(self) -> State:
        """What `go_on` needs: seconds, the rows logged, and what was watched since the last of them."""
        watched = [{name: float(value) for name, value in step.items()} for step in self._watched]
        pending = {"watched": watched, "tokens": [int(count) for count in self._tokens], "rate": self._rate}
        return {"seconds": self.seconds(), "rows": list(self.rows), **pending}

    def go_on(self, state: State) -> None:
        """Count on from where another meter was."""
        self._start, self.rows = self._last - state["seconds"], list(state["rows"])
        self._watched, self._tokens = list(state["watched"]), list(state["tokens"])
        self._step, self._rate = state["step"], state["rate"]

    @property
    def pending(self) -> bool:
        return bool(self._watched)

    @property
    def diverged(self) -> bool:
        return self._in_a_row >= MOST_SKIPPED

    def seconds(self) -> float:
        return time.perf_counter() - self._start

    def add(self, step: int, rate: float, watched: dict[str, Tensor] | None, batch: dict[str, Tensor]) -> None:
        """Note a step; None for one that was skipped."""
        if watched is None:
            self.skipped, self._in_a_row = self.skipped + 1, self._in_a_row + 1
            return
        self._in_a_row = 0
        self._step, self._rate = step, rate
        self._watched.append({key: value.detach() for key, value in watched.items()})
        self._tokens.append(batch["attention_mask"].sum())

    def row(self) -> dict[str, float]:
        self.names = list(self._watched[0])
        means = {key: fmean(float(step[key]) for step in self._watched) for key in self.names}
        now = time.perf_counter()
        speed = sum(map(int, self._tokens)) / (now - self._last)
        self._last = now
        self._clear()
        timing = {"seconds": now - self._start, "tokens_per_second": speed}
        self.rows.append({"step": self._step, **means, "learning_rate": self._rate, **timing})
        return self.rows[-1]
