"""Rows of a data set of the Hugging Face hub, or of a folder with its files, read one by one with `datasets`."""

import re
from collections.abc import Iterator
from pathlib import Path

from bertlab.errors import InputError

CONFIGURED = re.compile(r"(\w[\w.-]*/\w[\w.-]*)/(\w[\w.-]*)")


def read_dataset(name: str, column: str = "text") -> Iterator[str]:
    """The text in `column` of each row of the training split, none of it in memory before its turn.

    `name` and errors are as in `read_rows`; InputError too where there is no such column, or a row (named by its
    number) holds something else there.
    """
    for number, row in enumerate(read_rows(name), start=1):
        yield _text(row, column, f"{name}, row {number}")


def read_rows(name: str, split: str = "train", **options: str) -> Iterator[dict[str, object]]:
    """The rows of a split as they come, each number that stands for a class as the name of that class.

    `name` is org/name or org/name/configuration on the hub, or a folder (of JSON lines, Parquet, CSV ...); `options`
    are those of `datasets.load_dataset`. InputError: it cannot be had or read on.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise InputError("data sets need the package datasets: install it with pip install datasets") from error
    configured = CONFIGURED.fullmatch(name)
    address = configured.groups() if configured and not Path(name).exists() else (name,)
    number = 0
    try:
        rows = load_dataset(*address, split=split, streaming=True, **options)
        features = getattr(rows, "features", None) or {}
        for row in rows:
            number += 1
            yield {column: _named(value, features.get(column)) for column, value in row.items()}
    except Exception as error:  # of the network, the hub, each file format: they share no base class
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{name}: cannot be read after row {number} ({reason}); check the name and the network, or give the "
            "folder of a data set that you have"
        ) from error


def _named(value: object, feature: object) -> object:
    """A class, or a list of them, by name; -1 stands where none is known, and becomes None."""
    if isinstance(value, list):
        return [_named(item, getattr(feature, "feature", None)) for item in value]
    names = getattr(feature, "names", None)
    if names is None or not isinstance(value, int):
        return value
    return names[value] if value >= 0 else None


def _text(row: dict, column: str, where: str) -> str:
    if column not in row:
        raise InputError(f"{where}: there is no column {column!r}; choose one of {', '.join(row)}")
    if not isinstance(row[column], str):
        raise InputError(f"{where}: {column!r} holds no text but {row[column]!r:.40}; repair or leave out that row")
    return row[column]
