"""Report from a running training: to progress bar, logs, snapshots, checkpoints, TensorBoard, Weights & Biases."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from tqdm.auto import tqdm

from bertlab.errors import InputError, at_least_one, require
from bertlab.io.files import read_text
from bertlab.training.engine.checkpoints import State
from bertlab.training.engine.micro_batches import Batch
from bertlab.training.engine.throughput import Row, TrainingLog

Send = Callable[[dict[str, float], int], None]  # figures by name, and the step they belong to
Open = Callable[[Path, int], AbstractContextManager[Send]]


@dataclass(frozen=True)
class Callbacks:
    """Functions that a training calls, and how often.

    `log` gets the row of every `log_every` steps. `snapshot` is called with each step of `snapshot_steps`. `save` gets
    all that is needed to resume, every `save_every` steps, and whether the training ends here.
    """

    log: Callable[[Row], None] | None = None
    log_every: int = 50
    snapshot: Callable[[int], None] | None = None
    snapshot_steps: Sequence[int] = ()
    save: Callable[[State | None, bool], None] | None = None
    save_every: int = 500

    def __post_init__(self) -> None:
        at_least_one(log_every=self.log_every, save_every=self.save_every)


@dataclass
class Reporter:
    """Makes the calls. All processes gather figures at the same steps, but only the first one has callbacks."""

    callbacks: Callbacks
    training: TrainingLog
    state: Callable[[int], State]  # of the training after a step
    bar: tqdm

    def at_start(self) -> None:
        calls = self.callbacks
        if calls.snapshot and 0 in calls.snapshot_steps:
            calls.snapshot(0)
        if calls.save:  # from now on the run can be resumed
            calls.save(self.state(0), False)

    def after(self, step: int, batch: Batch, last: bool, ended: bool) -> None:
        """`last`: the step is the last of all; `ended`: the training stops here before that."""
        calls, training = self.callbacks, self.training
        self.bar.update()
        if step % calls.log_every == 0:
            self.report()
        if calls.snapshot and step in calls.snapshot_steps:
            calls.snapshot(step)
        if last or ended or training.diverged or step % calls.save_every == 0:
            training.gather()
            if calls.save:
                found = {"batch": batch} if training.diverged else {}
                calls.save(self.state(step) | found, ended or training.diverged)

    def report(self) -> None:
        """Show and log the steps since the last row, if there are any."""
        self.training.gather()
        if not (row := self.training.end_row()):
            return
        self.bar.set_postfix(self.figures(row))
        if self.callbacks.log:
            self.callbacks.log(row)

    def figures(self, row: Row) -> dict[str, str | int]:
        """Return those figures of a row that the bar has room for."""
        watched = {name: f"{row[name]:.3g}" for name in self.training.names}
        shares = {"used": "utilisation", "waited": "wait_share"}
        times = {short: f"{row[name]:.0%}" for short, name in shares.items() if name in row}
        skipped = {"skipped": self.training.skipped} if self.training.skipped else {}
        return watched | {"tok/s": f"{row['tokens_per_second']:,.0f}"} | times | skipped


def call_each(*functions: Callable[[Row], None] | None) -> Callable[[Row], None]:
    """Return one function that hands a row to each of these that is not None."""

    def call(row: Row) -> None:
        for function in filter(None, functions):
            function(row)

    return call


@contextmanager
def open_loggers(
    folder: Path, after: int, tensorboard: bool, wandb: bool
) -> Iterator[tuple[Callable[[Row], None], Callable[[Row], None]]]:
    """Yield two callbacks: for the rows of a training, and for the evaluations on its dev set, whose names begin with
    "dev/". Both send to all loggers that are wanted, for a run in `folder` that goes on after step `after`."""
    wanted: dict[Open, bool] = {tensorboard_writer: tensorboard, wandb_run: wandb}
    with ExitStack() as held:
        senders = [held.enter_context(opened(folder, after)) for opened, asked in wanted.items() if asked]

        def log(prefix: str, row: Row) -> None:
            figures = {prefix + name: value for name, value in row.items() if name != "step"}
            for send in senders:
                send(figures, int(row["step"]))

        yield partial(log, ""), partial(log, "dev/")


@contextmanager
def tensorboard_writer(folder: Path, after: int) -> Iterator[Send]:
    """Write to `folder`/tensorboard. TensorBoard no longer shows what an earlier try wrote there of the steps past
    `after`."""
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(folder / "tensorboard", purge_step=after + 1) as writer:

        def send(figures: dict[str, float], step: int) -> None:
            for name, value in figures.items():
                writer.add_scalar(name, value, step)
            writer.flush()

        yield send


@contextmanager
def wandb_run(folder: Path, after: int) -> Iterator[Send]:
    """Send to a run of Weights & Biases in the project bertlab (or WANDB_PROJECT), which a resumed training continues.

    InputError: nobody is logged in.
    """
    import wandb

    name = folder / "wandb" / "id.txt"
    name.parent.mkdir(exist_ok=True)
    if not name.exists():
        name.write_text(uuid4().hex)
    how: dict[str, Any] = {"id": read_text(name), "resume": "allow", "settings": wandb.Settings(console="off")}
    try:
        run = wandb.init(project=os.environ.get("WANDB_PROJECT", "bertlab"), name=str(folder), dir=folder, **how)
    except wandb.errors.Error as error:
        raise InputError(f"--wandb: {error}; log in with wandb login, or set WANDB_MODE=offline") from error
    with run:
        yield lambda figures, step: run.log(figures, step=step)


def require_loggers(tensorboard: bool, wandb: bool) -> None:
    """Raise an InputError that says how to install what is wanted and missing."""
    for name, wanted in (("tensorboard", tensorboard), ("wandb", wandb)):
        if wanted:
            require(name, name)
