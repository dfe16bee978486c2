"""Save the whole state of a training now and then, so that a killed run can go on; check it when it is read."""

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from bertlab.errors import InputError
from bertlab.training.engine.throughput import TrainingLog

FORMAT = 3  # of what a state holds; 2 had no conditions
EVALUATIONS = "looks"  # what a state calls the evaluations on the dev set; older states must stay readable
State = dict[str, Any]  # step, model, optimizers; what the log and the run add to it


class Checkpoints:
    """`FOLDER/state-STEP-CHECKSUM.pt`, the newest few. A file appears in one rename; only then the oldest goes."""

    def __init__(self, folder: str | Path, keep: int = 2):
        if keep < 1:
            raise InputError(f"keep={keep}: must be at least 1")
        self.folder, self.keep = Path(folder), keep

    def __bool__(self) -> bool:
        return bool(self._paths())

    def save(self, state: State) -> None:
        """Write the state and drop all but the newest `keep`. InputError where the file system refuses."""
        part = self.folder / f".{state['step']:07d}.part"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            part.rename(self.folder / f"state-{state['step']:07d}-{_checksum(part)}.pt")
        except (OSError, RuntimeError) as error:  # torch reports a full disk by a RuntimeError
            reason = getattr(error, "strerror", None) or "is the disk full?"
            message = f"{self.folder}: no checkpoint of step {state['step']} ({reason}); those before it stay"
            raise InputError(message) from error
        finally:
            part.unlink(missing_ok=True)
        for old in self._paths()[self.keep :]:
            old.unlink(missing_ok=True)

    def newest(self) -> State:
        """Return the newest state that is whole; name damaged ones on stderr. InputError if none is left."""
        for path in self._paths():
            if state := _read(path):
                return state
            print(f"bertlab: {path} is damaged; going on from the one before it", file=sys.stderr)
        raise InputError(f"{self.folder}: no whole checkpoint to go on from; start anew in another folder")

    def remove(self) -> None:
        """Delete all states: the run is over."""
        for path in (*self._paths(), *self.folder.glob(".*.part")):
            path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("state-*.pt"), reverse=True)


def _read(path: Path) -> State | None:
    """Return the state in a file; None if it is damaged in whatever way."""
    try:
        if path.stem.rpartition("-")[2] != _checksum(path):
            return None
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # what unpickling raises has no base class, and it may be a bad sector of the disk
        return None
    return state if isinstance(state, dict) else None


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def training_state(model: nn.Module, optimizers: Sequence[Optimizer], training: TrainingLog, step: int) -> State:
    """Return all that the later steps depend on, and the rows logged so far. Random draws depend on the step alone."""
    states = [optimizer.state_dict() for optimizer in optimizers]
    return {"format": FORMAT, "step": step, "model": model.state_dict(), "optimizers": states, **training.state()}


def restore(state: State, model: nn.Module, optimizers: Sequence[Optimizer], training: TrainingLog) -> int:
    """Put everything back as `training_state` found it; return the step. InputError: other weights are trained now."""
    try:
        model.load_state_dict(state["model"])
        for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
    except (RuntimeError, ValueError) as error:
        reason = "the saved state is that of another version of bertlab, which trained other weights"
        raise InputError(f"{reason}: end the run with that version, or start anew in another folder") from error
    training.restore(state)
    return state["step"]
