"""The folder of one run: recipe, measurements, checkpoints. One training writes to it at a time."""

import csv
import errno
import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, get_type_hints

import torch
from filelock import FileLock, Timeout
from torch import Tensor

from bertlab.errors import InputError
from bertlab.io.atomic import atomic_folder, atomic_write
from bertlab.io.files import expanded, present, read_text
from bertlab.io.json_files import check_fields, read_json
from bertlab.model.base import PretrainedModel
from bertlab.model.weights import weights_file
from bertlab.tokenizer import Tokenizer
from bertlab.training.engine.checkpoints import FORMAT, SAVED, Checkpoints, Rows, State, check_state
from bertlab.training.engine.reproducibility import Conditions
from bertlab.training.engine.throughput import Row

if TYPE_CHECKING:
    from bertlab.training.finetune_recipe import FinetuneRecipe
    from bertlab.training.recipes import PretrainRecipe

NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}  # of some network file systems
RECIPE, MEASURES, STATES = "recipe.json", "measures.json", "resume"
ROWS, EVALUATIONS = "metrics.csv", "dev.csv"  # of the training, and those on the dev set
AT_START = (RECIPE, "machine.json", "baselines.json")  # what a run writes before its first step
DATA = "data.txt"  # a fingerprint of the examples, once they are learned
RUN_STATE = {"text": str, "minutes": float | None, "conditions": dict}  # what a run adds to each state, of which kind
DEV_STATE = {"evaluations": Rows, "best": dict[str, Tensor]}  # what a fine-tuning adds


BUSY = "another training is writing to it; wait until it has ended, or choose another --out"


@contextmanager
def locked(folder: Path, busy: str = BUSY) -> Iterator[None]:
    """Hold `folder`/.lock; the operating system releases it when the process ends, whatever ends it.

    Makes the folder if need be, and removes it again, with the folders made around it, if nothing was written to it.
    InputError at once, with `busy`, if another training holds the lock, or if the folder cannot be written. On a file
    system without locks the training goes on without one, and stderr says so.
    """
    path = folder / ".lock"
    lock = FileLock(path, timeout=0)
    try:
        made = [around for around in folder.absolute().parents if not around.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise InputError(f"{folder}: {busy}") from None
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
        with suppress(OSError):  # until one is not empty
            for empty in (folder, *made):
                empty.rmdir()


class RunFolder:
    """`runs/NAME/`: recipe.json, machine.json, metrics.csv, snapshots step-00100/ ..., and in the folder itself the
    model.

    So the folder of a finished run *is* a checkpoint: `from_pretrained("runs/NAME")`. Until then resume/ holds what a
    killed run goes on from. Until `close`, or the end of a with statement, no other run can use the folder.
    """

    def __init__(
        self, folder: str | Path, recipe: "PretrainRecipe | FinetuneRecipe", keep: int = 2, resume: bool = False
    ):
        """Begin a new run, or with `resume` open the unfinished one. InputError if the folder holds something else or
        another run is using it."""
        self.folder = expanded(folder)
        self.states = Checkpoints(self.folder / STATES, keep)
        self.log, self.log_evaluation = partial(self._append, ROWS), partial(self._append, EVALUATIONS)
        self.resume, self.stopped = resume, False
        self.has_dev_set = hasattr(recipe, "task")
        self.inputs: dict[str, Any] = {}
        self.state: State | None = None
        with ExitStack() as held:
            self._begin(held, recipe)
            self.close = held.pop_all().close

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, InputError) and {path.name for path in self.folder.iterdir()} <= {".lock", *AT_START}:
            for name in AT_START:  # it was refused after all, before the first step
                (self.folder / name).unlink(missing_ok=True)
        self.close()

    def _begin(self, held: ExitStack, recipe: "PretrainRecipe | FinetuneRecipe") -> None:
        if self.resume:
            check_unfinished(self.folder)  # before the lock makes a folder
            held.enter_context(locked(self.folder))
            check_unfinished(self.folder)
            check_recipe(self.folder, recipe)
            return
        text = json.dumps(asdict(recipe), indent=2) + "\n"
        self._create(text)
        held.enter_context(locked(self.folder))
        check_unused(self.folder)
        atomic_write(self.folder / RECIPE, text)

    def _create(self, recipe: str) -> None:
        """Make the folder if there is none; it appears together with its recipe."""
        if os.path.lexists(self.folder):
            return
        try:
            with atomic_folder(self.folder) as folder:
                (folder / RECIPE).write_text(recipe, encoding="utf-8")
        except InputError:
            if not self.folder.is_dir():  # else another run was quicker: the lock decides
                raise

    def saved_state(self, minutes: float | None) -> State | None:
        """Return the newest state, or None for a new run. InputError if the limit of `minutes` has changed."""
        self.inputs["minutes"] = minutes
        if not self.resume:
            return None
        state = self.state = self.states.newest()
        if state.get("format") != FORMAT:
            raise InputError(f"{self.folder} was begun by another version of bertlab: resume it with that")
        check_state(state, SAVED | RUN_STATE | (DEV_STATE if self.has_dev_set else {}), str(self.states.folder))
        if state["minutes"] != minutes:
            raise InputError(f"{self.folder} was begun with minutes={state['minutes']}: resume it with the same")
        return state

    def begin(self, text: str, conditions: Conditions) -> None:
        """Write to machine.json, and to every state, where the run takes place and how it computes; cut metrics.csv and
        dev.csv back to the state that a resumed run goes on from.

        `text` is a fingerprint of the training data. InputError if it has changed.
        """
        self.inputs |= {"text": text, "conditions": asdict(conditions)}
        if self.state:
            if self.state["text"] != text:
                raise InputError(f"{self.folder} was begun with another text or vocabulary: resume it with the same")
            for name, rows in ((ROWS, "rows"), (EVALUATIONS, "evaluations")):
                (self.folder / name).unlink(missing_ok=True)
                for row in self.state.get(rows, ()):
                    self._append(name, row)
            self.state = None  # it may be large
        atomic_write(self.folder / "machine.json", json.dumps(asdict(conditions), indent=2) + "\n")

    def save_state(self, state: State | None, stopped: bool) -> None:
        """Save what the run can go on from (None: the last state stays); `stopped`: the run ends here."""
        if state:
            self.states.save(state | self.inputs)
        self.stopped = stopped

    def _append(self, name: str, row: Row) -> None:
        """Append one row to a table; the first row names the columns."""
        path = self.folder / name
        new = not path.exists()
        try:
            with path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, row, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerow(
                    {key: value if isinstance(value, int) else f"{value:.6g}" for key, value in row.items()}
                )
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error

    def save(
        self, model: PretrainedModel, tokenizer: Tokenizer, step: int | None = None, dtype: torch.dtype | None = None
    ) -> Path:
        """Save the model as the snapshot of a step, or (None) as the result of the run; return its folder."""
        folder = self.folder if step is None else self.folder / f"step-{step:05d}"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*transformers has no head")  # the command says it once, and the card
            model.save_pretrained(folder, tokenizer, dtype=dtype)
        if step is not None:  # so a snapshot says too what it learned
            shutil.copy(self.folder / RECIPE, folder)
        return folder


def check_parts(folder: Path, part: str, name: str, resume: bool) -> None:
    """Raise an InputError if the folder holds a run, or several in its folder `part`; or with `resume` none of these.
    Messages call them `name`."""
    begun = (folder / part).exists()
    if resume and not begun:
        raise InputError(f"{folder} holds no unfinished {name} to resume")
    if not resume and (begun or weights_file(folder) or Checkpoints(folder / STATES)):
        raise InputError(f"{folder} holds a run already: go on with --resume, or choose another --out")


def note_data(folder: Path, *sets: Iterable[Any]) -> None:
    """Note in the folder of a run that has ended which examples it learned from and was chosen by."""
    atomic_write(folder / DATA, fingerprint(chain(*sets)) + "\n")


def check_data(folder: Path, *sets: Iterable[Any]) -> None:
    """Raise an InputError if the run that has ended in the folder learned from other examples."""
    if present(folder / DATA) and read_text(folder / DATA).strip() != fingerprint(chain(*sets)):
        raise InputError(f"{folder} learned from other examples: resume with the same, or choose another --out")


def fingerprint(data: Iterable[Any]) -> str:
    """Return a hash of the data that a run learns from."""
    digest = sha256()
    for item in data:
        digest.update(repr(item).encode())
    return digest.hexdigest()[:16]


def check_unfinished(folder: Path) -> None:
    """Raise an InputError if the folder holds no run that can be resumed."""
    if not Checkpoints(folder / STATES):
        raise InputError(f"{folder} holds no unfinished run to resume")


def check_unused(folder: Path) -> None:
    """Raise an InputError if the folder holds a run."""
    if Checkpoints(folder / STATES):
        raise InputError(f"{folder} holds an unfinished run: go on with --resume, or choose another --out")
    if (folder / ROWS).exists() or weights_file(folder):
        raise InputError(f"{folder} holds a run already: choose another --out or remove it")


def check_recipe(folder: Path, recipe: "PretrainRecipe | FinetuneRecipe") -> None:
    """Raise an InputError if the run in the folder was begun with another recipe, or by a version with other fields."""
    begun = read_json(folder / RECIPE)
    check_fields(begun, get_type_hints(type(recipe)), str(folder / RECIPE))
    begun, asked = dotted(begun), dotted(json.loads(json.dumps(asdict(recipe))))
    if other := sorted(begun.keys() ^ asked.keys()):
        raise InputError(f"{folder} was begun by another version of bertlab ({other[0]}): resume it with that")
    changed = [f"{key} was {begun[key]!r}" for key in asked if asked[key] != begun[key]]
    if changed:
        raise InputError(f"{folder} was begun with another recipe ({'; '.join(changed)}): resume it with that")


def dotted(fields: dict[str, Any], group: str = "") -> dict[str, Any]:
    """Return the fields of a recipe, and those of the records in it, as --set names them: optim.learning_rate."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        found |= dotted(value, f"{group}{name}.") if isinstance(value, dict) else {group + name: value}
    return found
