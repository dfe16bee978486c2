"""Comparisons kept as one small file each, with the score of every example: to be judged again without training.

The file is the JSON that `bertlab compare` writes, zipped. Those of `results/` are made by `benchmarks/compare.py` and
ship with bertlab.
"""

import gzip
import zlib
from pathlib import Path
from typing import Any

from bertlab.compare.experiment import Result
from bertlab.compare.report import Comparison
from bertlab.compare.tables import TABLES, find_table
from bertlab.errors import InputError
from bertlab.io.files import MOST_BYTES, open_file
from bertlab.io.json_files import parse_json

RESULTS = Path(__file__).parent / "results"


def path_of(name: str, folder: Path = RESULTS) -> Path:
    return folder / f"{name}.json.gz"


def save(name: str, json: str, folder: Path = RESULTS) -> None:
    """Keep the JSON of a comparison; the same JSON gives the same bytes."""
    path_of(name, folder).write_bytes(gzip.compress(json.encode(), mtime=0))


def saved_names(folder: Path = RESULTS) -> list[str]:
    """Return the tables of which the folder has a comparison."""
    return [name for name in TABLES if path_of(name, folder).exists()]


def open_saved(name: str, folder: Path = RESULTS) -> Comparison:
    """Return the saved comparison of a table. InputError: there is none, or its file is damaged."""
    if name not in saved_names(folder):
        make = f"python benchmarks/compare.py {name}"
        raise InputError(f"{folder} has no comparison {name!r}, only {saved_names(folder)}: make it with `{make}`")
    found = _read(path_of(name, folder))
    return Comparison(
        name, find_table(name), [Result.from_record(record) for record in found["results"]], found["note"]
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        with open_file(path) as raw, gzip.open(raw) as file:
            text = file.read(MOST_BYTES).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a saved comparison ({error})") from error
    return parse_json(text, path)
