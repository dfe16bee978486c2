"""Send the figures of a training to TensorBoard and to Weights & Biases while it runs."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from bertlab.errors import InputError, require
from bertlab.io.gate import read_text
from bertlab.training.engine.throughput import Row

Send = Callable[[dict[str, float], int], None]  # figures by name, and the step they belong to
Open = Callable[[Path, int], AbstractContextManager[Send]]


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
