"""Comparisons kept as one small JSON file each, with the score of every example: to be judged again without training.

Those of `results/` are made by `benchmarks/compare.py` and ship with bertlab.
"""

from pathlib import Path

from bertlab.compare.laboratory import Result
from bertlab.compare.report import Comparison
from bertlab.compare.tables import TABLES, find_table
from bertlab.errors import InputError
from bertlab.io.gate import read_json

RESULTS = Path(__file__).parent / "results"


def saved_names(folder: Path = RESULTS) -> list[str]:
    """Return the tables of which the folder has a comparison."""
    return [name for name in TABLES if (folder / f"{name}.json").exists()]


def open_saved(name: str, folder: Path = RESULTS) -> Comparison:
    """Return the saved comparison of a table. InputError: there is none."""
    if name not in saved_names(folder):
        make = f"python benchmarks/compare.py {name}"
        raise InputError(f"{folder} has no comparison {name!r}, only {saved_names(folder)}: make it with `{make}`")
    found = read_json(folder / f"{name}.json")
    return Comparison(
        name, find_table(name), [Result.from_record(record) for record in found["results"]], found["note"]
    )
