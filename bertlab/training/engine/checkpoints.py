"""What a killed run goes on from: its whole state, saved now and then, checked when it is read."""

import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from bertlab.errors import InputError
from bertlab.training.engine.throughput import Meter

FORMAT = 3  # of what a state holds; 2 had no conditions
State = dict  # step, model, optimizers; what the meter and the run add to it


class Checkpoints:
    """`FOLDER/state-STEP-CHECKSUM.pt`, the newest few. A file appears in one rename, and the older ones go after it."""

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
        except (OSError, RuntimeError) as error:  # torch tells of a full disk by a RuntimeError
            reason = getattr(error, "strerror", None) or "is the disk full?"
            message = f"{self.folder}: no checkpoint of step {state['step']} ({reason}); those before it stay"
            raise InputError(message) from error
        finally:
            part.unlink(missing_ok=True)
        for old in self._paths()[self.keep :]:
            old.unlink(missing_ok=True)

    def newest(self) -> State:
        """The newest state that is whole; says which ones are damaged. InputError where none is left."""
        for path in self._paths():
            if state := _read(path):
                return state
            print(f"bertlab: {path} is damaged; going on from the one before it", file=sys.stderr)
        raise InputError(f"{self.folder}: no whole checkpoint to go on from; start anew in another folder")

    def remove(self) -> None:
        """Nothing is left to resume."""
        for path in (*self._paths(), *self.folder.glob(".*.part")):
            path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("state-*.pt"), reverse=True)


def _read(path: Path) -> State | None:
    """The state in a file, None for one that is damaged, whatever the way."""
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


def whole_state(model, optimizers, meter: Meter, step: int) -> State:
    """All that the steps after this one depend on, and the rows logged so far. What is drawn depends on the step."""
    states = [optimizer.state_dict() for optimizer in optimizers]
    return {"format": FORMAT, "step": step, "model": model.state_dict(), "optimizers": states, **meter.state()}


def restore(state: State, model, optimizers, meter: Meter) -> int:
    """Put everything back as `whole_state` found it; returns the step."""
    model.load_state_dict(state["model"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    meter.go_on(state)
    return state["step"]


@contextmanager
def between_steps() -> Iterator[Callable[[], bool]]:
    """Gives a function that tells whether Ctrl-C was pressed, for the loop to ask when no step is half done.

    SIGTERM, by which a system or a queue of jobs ends a process, counts as Ctrl-C. A second one of either interrupts at
    once. Outside the main thread, where no signals arrive, it is never pressed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = []

    def note(*_) -> None:
        pressed.append(True)
        put_back()

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(pressed)
    finally:
        put_back()
