"""Text of a data set of the Hugging Face hub, or of a folder with its files, read row by row with `datasets`."""

import re
from collections.abc import Iterator
from pathlib import Path

from bertlab.errors import InputError

CONFIGURED = re.compile(r"(\w[\w.-]*/\w[\w.-]*)/(\w[\w.-]*)")


def read_dataset(name: str, column: str = "text") -> Iterator[str]:
    """The text in `column` of each row of the training split, none of it in memory before its turn.

    `name` is org/name or org/name/configuration on the hub, or a folder (of JSON lines, Parquet, CSV ...). InputError:
    it cannot be had or read on, there is no such column, or a row (named by its number) holds something else there.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise InputError("data sets need the package datasets: install it with pip install datasets") from error
    configured = CONFIGURED.fullmatch(name)
    address = configured.groups() if configured and not Path(name).exists() else (name,)
    number = 0
    try:
        for number, row in enumerate(load_dataset(*address, split="train", streaming=True), start=1):
            yield _text(row, column, f"{name}, row {number}")
    except InputError:
        raise
    except Exception as error:  # of the network, the hub, each file format: they share no base class
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{name}: cannot be read after row {number} ({reason}); check the name and the network, or give the "
            "folder of a data set that you have"
        ) from error


def _text(row: dict, column: str, where: str) -> str:
    if column not in row:
        raise InputError(f"{where}: there is no column {column!r}; choose one of {', '.join(row)}")
    if not isinstance(row[column], str):
        raise InputError(f"{where}: {column!r} holds no text but {row[column]!r:.40}; repair or leave out that row")
    return row[column]
