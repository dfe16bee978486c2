"""What a run left in its folder, read back: the recipe and the logged figures."""

import csv
from pathlib import Path
from typing import Any, get_type_hints

from bertlab.errors import InputError
from bertlab.io.files import present, read_text
from bertlab.io.json_files import check_fields, read_json
from bertlab.training.engine.throughput import Row
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.recipes import PretrainRecipe

MOST_LOG_BYTES = 200_000_000  # a million steps, each with its row
LARGEST = 1e30  # of a figure: more overflows in a chart


def read_record(path: Path) -> dict[str, Any]:
    """Return the plain data of a recipe.json; fields may be missing, and others than today's may be there.

    InputError names the file, and a field whose value is not of the type that recipes have.
    """
    record = read_json(path)
    check_fields(record, get_type_hints(FinetuneRecipe if "task" in record else PretrainRecipe), str(path))
    return record


def read_rows(path: Path) -> list[Row]:
    """Read metrics.csv or dev.csv; a missing file has no rows. A last line without its end is still being written and
    left out. InputError names a damaged line."""
    if not present(path):  # no dev set, or no step with a finite gradient
        return []
    lines = read_text(path, MOST_LOG_BYTES).splitlines(keepends=True)
    whole = [_cells(line) for line in lines if line.endswith("\n")]
    if not whole:
        return []
    names, *rows = whole
    if "step" not in names:
        raise InputError(f"{path} cannot be read (it has no column step)")
    if repeated := [name for number, name in enumerate(names) if not name or name in names[:number]]:
        raise InputError(f"{path}, line 1: the column {repeated[0]!r} has no name or that of another one")
    return [_read_row(names, row, f"{path}, line {number}") for number, row in enumerate(rows, start=2)]


def _cells(line: str) -> list[str]:
    """Return the cells of a line; a name with a comma, such as f1:, of a label, is in quotes."""
    try:
        return next(csv.reader([line.strip()]), [])
    except csv.Error:  # a cell longer than any figure
        return []


def _read_row(names: list[str], row: list[str], where: str) -> Row:
    try:
        figures = dict(zip(names, map(float, row), strict=True))
    except ValueError as error:
        raise InputError(f"{where}: {len(names)} numbers are expected ({', '.join(names[:3])}, ...)") from error
    for name, figure in figures.items():
        check_figure(figure, f"{where}, column {name}")
    if not 0 <= figures["step"] == int(figures["step"]):
        raise InputError(f"{where}, column step: {figures['step']:g} is no number of a step")
    return figures


def check_figure(figure: float, where: str) -> None:
    """Raise an InputError for a figure that no chart can show: nan, an infinity, or one beyond all measures."""
    if not abs(figure) <= LARGEST:
        raise InputError(f"{where}: {figure:g} is no figure of a training; restore the file or remove this line")
