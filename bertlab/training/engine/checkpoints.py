"""Save the whole state of a training now and then, so that a killed run can go on; check it when it is read."""

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bertlab.errors import InputError
from bertlab.io.files import check_file
from bertlab.io.json_files import check_fields
from bertlab.training.engine.throughput import TrainingLog

ANOTHER = "begin the run again with another --out and without --resume"
FORMAT = 4  # of what a state holds: raise it when that changes
State = dict[str, Any]  # step, model, optimizers; what the log and the run add to it
Rows = list[dict[str, float]]
SAVED = {  # what each state holds, of which kind
    "step": int,
    "model": dict[str, Tensor],
    "optimizers": list[dict],
    "seconds": float,
    "rows": Rows,
    "names": list[str],
    "figures": list[list[float]],
    "rate": float,
}


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
        part = self.folder / ".state.part"  # one name, so that the next save replaces what a kill left
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
        damaged: list[str] = []
        for path in self._paths():
            try:
                state = _read(path)
            except InputError as error:
                damaged.append(str(error))
            else:
                for found in damaged:
                    print(f"bertlab: {found}; going on from the one before it", file=sys.stderr)
                return state
        raise InputError(f"{damaged[0] if damaged else self.folder}: no whole checkpoint to go on from; {ANOTHER}")

    def remove(self) -> None:
        """Delete all states: the run is over."""
        for path in (*self._paths(), *self.folder.glob(".*.part")):
            path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("state-*.pt"), reverse=True)


def _read(path: Path) -> State:
    """Return the state in a file. InputError, which names it, if it is damaged in whatever way."""
    check_file(path)
    try:
        whole = path.stem.rpartition("-")[2] == _checksum(path)
        state = torch.load(path, map_location="cpu", weights_only=True) if whole else None
    except PermissionError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from error
    except Exception:  # what unpickling raises has no base class, and it may be a bad sector of the disk
        state = None
    if not isinstance(state, dict):
        raise InputError(f"{path} is damaged")
    return state


def check_state(state: State, kinds: Mapping[str, Any], where: str) -> None:
    """Raise an InputError that names `where` if a state is none that bertlab has written: it lacks one of `kinds`, or a
    value is of another kind."""
    if lacking := [name for name in kinds if name not in state]:
        raise InputError(f"{where}: the saved state lacks {lacking[0]!r}; {ANOTHER}")
    check_fields(state, kinds, f"{where}: the saved state is none of bertlab's")
    if state["step"] < 0:
        raise InputError(f"{where}: the saved state is one of step {state['step']}; {ANOTHER}")


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
    except (RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
        reason = "the saved state is that of another version of bertlab, which trained other weights"
        raise InputError(f"{reason}: end the run with that version, or {ANOTHER}") from error
    training.restore(state)
    return state["step"]
