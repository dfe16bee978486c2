"""Rows with named columns, of CSV, TSV and JSON-lines files."""

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from bertlab.corpora.reading import Skipped, open_text, usable
from bertlab.errors import InputError

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".txt")
LARGEST = 2**31 - 1  # characters of a CSV cell; the module's own 131,072 are less than some documents
QUOTING: dict[str, dict] = {  # files ending in .tsv are written without quoting, those of GLUE for example: a " is a "
    ".csv": {"strict": True},
    ".tsv": {"delimiter": "\t", "quoting": csv.QUOTE_NONE},
}


@dataclass(frozen=True)
class Record:
    """One row: its place in words, the number of its line or row, and the values of its columns."""

    where: str
    number: int
    values: dict[str, object]

    def value(self, column: str) -> object:
        if column not in self.values:
            raise InputError(f"{self.where}: there is no column {column!r}, only {', '.join(self.values)}")
        return self.values[column]

    def place(self, column: str) -> str:
        """Name a column of this row, for messages."""
        return f"{self.where}: {column!r}"


def read_records(
    path: Path, encoding: str = "utf-8", skipped: Skipped | None = None, column: str | None = None
) -> Iterator[Record]:
    """Yield the rows of a .csv, .tsv, .jsonl or .json (one object a line) or .txt file (each line as column "text").

    The first line of CSV and TSV names the columns. If `column` is a number and not among the names, there is no such
    line, and columns are called "0", "1", ... InputError names a file of another kind, or the line where something is
    wrong; with `skipped` such a row is left out and counted, unless it makes all later rows doubtful.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: not a file of examples; one ends in {', '.join(SUFFIXES)}")
    if suffix in QUOTING:
        yield from _csv(path, encoding, skipped, column or "", QUOTING[suffix])
    elif suffix == ".txt":
        for number, line in _lines(path, encoding):
            yield Record(f"{path}, line {number}", number, {"text": line})
    else:
        yield from usable(_lines(path, encoding), partial(_object, path), skipped)


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    with open_text(path, encoding) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, line.removesuffix("\n")


def _object(path: Path, row: tuple[int, str]) -> Record:
    number, line = row
    where = f"{path}, line {number}"
    try:
        values = json.loads(line)
    except RecursionError:
        raise InputError(f"{where}: JSON nested too deeply; each line is one object with named columns") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: no JSON ({error.msg} at character {error.pos}); each line is one object") from error
    if not isinstance(values, dict):
        raise InputError(f"{where}: JSON, but no object with named columns; each line is one")
    return Record(where, number, values)


def _csv(path: Path, encoding: str, skipped: Skipped | None, column: str, quoting: dict) -> Iterator[Record]:
    rows = _cells(path, encoding, quoting)
    number, names = next(rows, (1, []))
    if column.isdecimal() and column not in names:
        rows = chain([(number, names)], rows)
        names = [str(place) for place in range(len(names))]
    _check_names(names, path)
    yield from usable(rows, partial(_record, path, names), skipped)


def _cells(path: Path, encoding: str, quoting: dict) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of its first line, cells) of each row that is not blank."""
    csv.field_size_limit(LARGEST)
    number = 1
    with open_text(path, encoding, newline="") as file:
        reader = csv.reader(file, **quoting)
        try:
            for cells in reader:
                if cells:
                    yield number, cells
                number = reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f'{path}, line {number}: the row that begins here is no CSV ({error}); a " within quotes is written ""'
            ) from error


def _check_names(names: Iterable[str], path: Path) -> None:
    seen = {""}
    for name in names:
        if "\0" in name:
            raise InputError(f"{path}: holds NUL characters; is it UTF-16? then give --encoding utf-16-le")
        if name and name in seen:
            raise InputError(f"{path}: two columns are called {name!r}")
        seen.add(name)


def _record(path: Path, names: list[str], row: tuple[int, list[str]]) -> Record:
    number, cells = row
    where = f"{path}, line {number}"
    if len(cells) != len(names):
        raise InputError(f"{where}: {len(cells)} columns, but the first line has {len(names)}")
    return Record(where, number, dict(zip(names, cells, strict=True)))
