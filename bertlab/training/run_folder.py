"""The folder of one run: its recipe, what was measured, its checkpoints. One training writes to it at a time."""

import csv
import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from bertlab.errors import InputError
from bertlab.io.atomic import atomic_folder, atomic_write
from bertlab.io.gate import read_json
from bertlab.tokenizer import Tokenizer
from bertlab.training.engine.checkpoints import FORMAT, Checkpoints, State
from bertlab.training.engine.conditions import Conditions

NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}  # of some network file systems


MEASURES = "measures.json"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder`/.lock; the operating system lets go of it when the process ends, whatever ends it.

    Makes the folder if need be; if nothing was written to it in the end, it goes again. Raises InputError at once if
    another training holds the lock, and where the folder cannot be written. A file system without locks is named on
    stderr, and the training goes on without one.
    """
    path = folder / ".lock"
    lock = FileLock(path, timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        message = f"{folder}: another training is writing to it; wait until it has ended, or choose another --out"
        raise InputError(message) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise InputError(f"cannot use the run folder {folder}: {error.strerror}") from error
        print(f"bertlab: {folder}: this file system has no locks; start no second training there", file=sys.stderr)
    try:
        yield
    finally:
        with suppress(OSError):  # while it is held, so that nobody waits for a file that is gone
            path.unlink()
        lock.release()
        with suppress(OSError):
            folder.rmdir()


class Run:
    """`runs/NAME/`: recipe.json, machine.json, metrics.csv, snapshots step-00100/ ..., and in the folder itself the
    model.

    So the folder of a finished run *is* a checkpoint: `from_pretrained("runs/NAME")`. Until then resume/ holds what an
    ended one goes on from. From its making until `close`, or the end of a with statement, no other run can use it.
    """

    def __init__(self, folder: str | Path, recipe: dict, keep: int = 2, resume: bool = False):
        """A new run, or with `resume` the one that the folder holds. InputError where that does not fit, and where
        another run is using the folder."""
        self.folder = Path(folder).expanduser()
        self.states = Checkpoints(self.folder / "resume", keep)
        self.resume, self.stopped, self.inputs = resume, False, {}
        with ExitStack() as held:
            self._begin(held, recipe)
            self.close = held.pop_all().close

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _begin(self, held: ExitStack, recipe: dict) -> None:
        if self.resume:
            self._check_states()  # before the lock makes a folder
            held.enter_context(locked(self.folder))
            self._check_states()
            return check_recipe(self.folder, recipe)
        text = json.dumps(recipe, indent=2) + "\n"
        self._appear(text)
        held.enter_context(locked(self.folder))
        self._check_unused()
        atomic_write(self.folder / "recipe.json", text)

    def _appear(self, recipe: str) -> None:
        """Make the folder if there is none: whoever sees it sees its recipe."""
        if os.path.lexists(self.folder):
            return
        try:
            with atomic_folder(self.folder) as folder:
                (folder / "recipe.json").write_text(recipe, encoding="utf-8")
        except InputError:
            if not self.folder.is_dir():  # else another run was quicker: the lock decides
                raise

    def _check_states(self) -> None:
        if not self.states:
            raise InputError(f"{self.folder} holds no unfinished run to resume")

    def _check_unused(self) -> None:
        if self.states:
            raise InputError(f"{self.folder} holds an unfinished run: go on with --resume, or choose another --out")
        if any((self.folder / name).exists() for name in ("metrics.csv", "model.safetensors")):
            raise InputError(f"{self.folder} holds a run already: choose another --out or remove it")

    def go_on(self, text: str, minutes: float | None) -> State | None:
        """The newest state, None for a new run; metrics.csv then ends where the state does.

        `text` identifies what the run learns from. InputError if it or the limit of `minutes` has changed.
        """
        self.inputs = {"text": text, "minutes": minutes}
        if not self.resume:
            return None
        state = self.states.newest()
        if state.get("format") not in (2, FORMAT):
            raise InputError(f"{self.folder} was begun by another version of bertlab: resume it with that")
        if state["text"] != text:
            raise InputError(f"{self.folder} was begun with another text or vocabulary: resume it with the same")
        if state["minutes"] != minutes:
            raise InputError(f"{self.folder} was begun with minutes={state['minutes']}: resume it with the same")
        for name, log, rows in (("metrics.csv", self.log, "rows"), ("dev.csv", self.log_look, "looks")):
            (self.folder / name).unlink(missing_ok=True)
            for row in state.get(rows, ()):
                log(row)
        return state

    def note(self, conditions: Conditions) -> None:
        """Keep in machine.json, and in every state, where the run takes place and how it computes."""
        self.inputs["conditions"] = asdict(conditions)
        atomic_write(self.folder / "machine.json", json.dumps(asdict(conditions), indent=2) + "\n")

    def save_state(self, state: State | None, stopped: bool) -> None:
        """Keep what the run can go on from (None: what was kept last); `stopped`: it ends here."""
        if state:
            self.states.save(state | self.inputs)
        self.stopped = stopped

    def end(self) -> None:
        """The result is saved: unless it was stopped, nothing is left to resume."""
        if not self.stopped:
            self.states.remove()

    def log(self, row: dict[str, float]) -> None:
        """Append one row to metrics.csv; the first row names the columns."""
        self._append("metrics.csv", row)

    def log_look(self, row: dict[str, float]) -> None:
        """Append what was measured on the dev set to dev.csv."""
        self._append("dev.csv", row)

    def _append(self, name: str, row: dict[str, float]) -> None:
        path = self.folder / name
        new = not path.exists()
        try:
            with path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, row, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerow({key: f"{value:.6g}" for key, value in row.items()})
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error

    def save(self, model, tokenizer: Tokenizer, step: int | None = None, dtype=None) -> Path:
        """Save the model: as snapshot of a step, or (None) as the result of the run."""
        folder = self.folder if step is None else self.folder / f"step-{step:05d}"
        model.save_pretrained(folder, tokenizer, dtype=dtype)
        if step is not None:  # a snapshot too tells what it learns
            shutil.copy(self.folder / "recipe.json", folder)
        return folder


def check_recipe(folder: Path, recipe: dict) -> None:
    """InputError where the run in the folder was begun with another recipe, or does not tell."""
    begun = read_json(folder / "recipe.json")
    asked = json.loads(json.dumps(recipe))
    changed = [f"{key} was {begun.get(key)!r}" for key in asked if asked[key] != begun.get(key)]
    if changed:
        raise InputError(f"{folder} was begun with another recipe ({'; '.join(changed)}): resume it with that")


def read_rows(path: Path) -> list[dict[str, float]]:
    """The rows of metrics.csv or dev.csv, none where the file is missing; a last line without its end is still being
    written and left out. InputError names a line that is damaged."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except FileNotFoundError:  # no dev set, or no step with a finite gradient
        return []
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error})") from error
    whole = [line.strip().split(",") for line in lines if line.endswith("\n")]
    if not whole:
        return []
    names, *rows = whole
    if "step" not in names:
        raise InputError(f"{path} cannot be read (it has no column step)")
    return [_read_row(names, row, f"{path}, line {number}") for number, row in enumerate(rows, start=2)]


def _read_row(names: list[str], row: list[str], place: str) -> dict[str, float]:
    try:
        return dict(zip(names, map(float, row), strict=True))
    except ValueError as error:
        raise InputError(f"{place}: {len(names)} numbers are expected ({', '.join(names[:3])}, ...)") from error


def to_all(*receivers: Callable[[dict[str, float]], None] | None) -> Callable[[dict[str, float]], None]:
    """One function that hands a row to every receiver that is there."""

    def log(row: dict[str, float]) -> None:
        for receive in filter(None, receivers):
            receive(row)

    return log
