"""The folder of one run: what was asked for, what was measured on the way, and the checkpoints."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

from bertlab.errors import InputError
from bertlab.files_io import atomic_write
from bertlab.tokenizer import Tokenizer


class Run:
    """`runs/NAME/`: recipe.json, metrics.csv, snapshots step-00100/ ..., and in the folder itself the model.

    So the folder of a finished run *is* a checkpoint: `from_pretrained("runs/NAME")`.
    """

    def __init__(self, folder: str | Path, recipe: dict):
        self.folder = Path(folder).expanduser()
        try:
            if any((self.folder / name).exists() for name in ("metrics.csv", "model.safetensors")):
                raise InputError(f"{self.folder} holds a run already: choose another --out or remove it")
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the run folder {self.folder}: {error.strerror}") from error
        atomic_write(self.folder / "recipe.json", json.dumps(recipe, indent=2) + "\n")

    def log(self, row: dict[str, float]) -> None:
        """Append one row to metrics.csv; the first row names the columns."""
        path = self.folder / "metrics.csv"
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
        return folder


def to_all(*receivers: Callable[[dict[str, float]], None] | None) -> Callable[[dict[str, float]], None]:
    """One function that hands a row to every receiver that is there."""

    def log(row: dict[str, float]) -> None:
        for receive in filter(None, receivers):
            receive(row)

    return log
