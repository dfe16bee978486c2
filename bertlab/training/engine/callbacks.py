"""What a training reports to while it runs: progress bar, log, TensorBoard, snapshots, checkpoints."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm.auto import tqdm

from bertlab.training.engine.checkpoints import State
from bertlab.training.engine.throughput import Meter


@dataclass
class Receivers:
    """What is called after which steps. In all processes but the first, the functions are None and the bar is silent;
    yet all of them gather their figures at the same steps.
    """

    meter: Meter
    state: Callable[[int], State]  # of the training after a step
    bar: tqdm
    log: Callable[[dict[str, float]], None] | None
    log_every: int
    snapshot: Callable[[int], None] | None
    snapshot_steps: Sequence[int]
    save: Callable[[State | None, bool], None] | None
    save_every: int

    def at_start(self) -> None:
        if self.snapshot and 0 in self.snapshot_steps:
            self.snapshot(0)
        if self.save:  # from now on the run can be resumed
            self.save(self.state(0), False)

    def after(self, step: int, batch: dict, last: bool, ended: bool) -> None:
        """`last`: of all steps; `ended`: the training stops here before that."""
        self.bar.update()
        if step % self.log_every == 0:
            self.report()
        if self.snapshot and step in self.snapshot_steps:
            self.snapshot(step)
        if last or ended or self.meter.diverged or step % self.save_every == 0:
            self.meter.gather()
            if self.save:
                found = {"batch": batch} if self.meter.diverged else {}
                self.save(self.state(step) | found, ended or self.meter.diverged)

    def report(self) -> None:
        """Show and log the steps since the last row, if there are any."""
        self.meter.gather()
        if not self.meter.pending:
            return
        row = self.meter.row()
        self.bar.set_postfix(self.figures(row))
        if self.log:
            self.log(row)

    def figures(self, row: dict[str, float]) -> dict[str, str | int]:
        """What of a row the bar has room for."""
        watched = {name: f"{row[name]:.3g}" for name in self.meter.names}
        shares = {"used": "utilisation", "waited": "wait_share"}
        times = {short: f"{row[name]:.0%}" for short, name in shares.items() if name in row}
        skipped = {"skipped": self.meter.skipped} if self.meter.skipped else {}
        return watched | {"tok/s": f"{row['tokens_per_second']:,.0f}"} | times | skipped


def tensorboard_log(folder: Path, after: int) -> Callable[[dict[str, float]], None]:
    """A receiver of rows that writes them to `folder`/tensorboard, where what an earlier try wrote of the steps past
    `after` is no longer shown.
    """
    from lightning_fabric.loggers import TensorBoardLogger

    logger = TensorBoardLogger(folder, name="", version="tensorboard", purge_step=after + 1)

    def log(row: dict[str, float]) -> None:
        logger.log_metrics({name: value for name, value in row.items() if name != "step"}, int(row["step"]))
        logger.save()

    return log
