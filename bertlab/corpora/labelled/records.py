"""Rows with named columns, of JSON-lines files and of tables with any delimiter."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

from bertlab.corpora.labelled.columns import TEXTS, Columns
from bertlab.corpora.labelled.dialect import LABEL_FIRST, Dialect, cells_of, dialect_of, sample_of
from bertlab.corpora.reading import Skipped, check_prose, open_text, read_beginning, read_json_text, usable
from bertlab.errors import InputError
from bertlab.io.json_files import parse_json

EVERY = Columns()  # none is asked for
JSON = (".jsonl", ".json", ".ndjson", ".jsonlines")
ROW_NAMES = [str(number) for number in range(1, 11)]  # as many rows numbered so are no ten labels in their order
NAME_IT_JSON = "give the file the ending .jsonl"


@dataclass(frozen=True)
class Record:
    """One row: its file and line in words, the number of its line or row, and the values of its columns."""

    where: str
    number: int
    values: dict[str, object]

    def value(self, column: str) -> object:
        if column not in self.values:
            raise InputError(f"{self.where}: there is no column {column!r}, only {', '.join(self.values)}")
        return self.values[column]

    def cell(self, column: str) -> str:
        """Name the cell of this row in a column, for messages."""
        return f"{self.where}: {column!r}"


def read_records(
    path: Path,
    encoding: str = "utf-8",
    skipped: Skipped | None = None,
    columns: Columns = EVERY,
    every_line: bool = False,
    labelled: bool = True,
) -> Iterator[Record]:
    """Yield the rows of JSON lines (.jsonl, .json: an object a line), of a JSON list of objects (.json), or of a table.

    The delimiter is found from the first lines: tabs, which separate without quoting, or commas, semicolons and | as in
    CSV. The first line names the columns, unless `columns` are numbers: then they are called "0", "1", ... Lines that
    begin with a number of few ("1 a fine film") have the columns "label" and "text", without `labelled` only if
    `columns` are numbers; other lines without a delimiter are the column "text"; blank ones are left out. With
    `every_line` each such line is a text, and a blank one a mistake. InputError names the line where something is
    wrong; with `skipped` such a row is left out and counted, unless it makes all later rows doubtful.
    """
    if path.suffix.lower() in JSON:
        if path.suffix.lower() == ".json" and read_beginning(path, encoding, option=True).lstrip().startswith("["):
            yield from usable(_entries(path, encoding), _from_json, skipped)
        else:
            yield from usable(_lines(path, encoding), partial(_object, path), skipped)
        return
    with open_text(path, encoding, newline="") as found:
        sample = sample_of(found)
        check_prose("".join(sample[:1]), path, NAME_IT_JSON)
        dialect, lines = dialect_of(sample, columns, path), chain(sample, found)
        if dialect.delimiter.strip(" "):
            yield from _table(path, lines, dialect, columns, skipped)
        else:
            rows = _filled(path, lines) if every_line else enumerate(lines, start=1)
            cut = dialect.delimiter == " " and not every_line and (labelled or columns.by_number)
            yield from _texts(path, rows, cut, skipped)


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    with open_text(path, encoding) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, line


def _object(path: Path, row: tuple[int, str]) -> Record:
    number, line = row
    where = f"{path}, line {number}"
    try:
        values = parse_json(line, where)
    except InputError as error:
        raise InputError(f"{error}; each line is one object with named columns") from error
    return _from_json((where, number, values))


def _entries(path: Path, encoding: str) -> Iterator[tuple[str, int, object]]:
    for number, values in enumerate(parse_json(read_json_text(path, encoding), path), start=1):
        yield f"{path}, entry {number}", number, values


def _from_json(row: tuple[str, int, object]) -> Record:
    where, number, values = row
    if not isinstance(values, dict):
        raise InputError(f"{where}: JSON, but no object with named columns; each line, or entry of a list, is one")
    return Record(where, number, values)


def _filled(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield each line with its number from 1. InputError: one before another is blank."""
    blank = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            blank = blank or number
        elif blank:
            raise InputError(f"{path}, line {blank}: is empty; write a text on it, or leave it out")
        else:
            yield number, line


def _texts(path: Path, lines: Iterable[tuple[int, str]], labelled: bool, skipped: Skipped | None) -> Iterator[Record]:
    """Yield each line that is not blank as a text, or as a label and a text."""

    def record(row: tuple[int, str]) -> Record:
        number, line = row
        where, line = f"{path}, line {number}", line.rstrip("\r\n")
        if not labelled:
            return Record(where, number, {"text": line})
        if not (match := LABEL_FIRST.fullmatch(line)):
            raise InputError(f"{where}: no label, blank and text, as the first lines have")
        return Record(where, number, {"label": match[1], "text": match[2]})

    yield from usable((row for row in lines if row[1].strip()), record, skipped)


def _table(
    path: Path, lines: Iterable[str], dialect: Dialect, columns: Columns, skipped: Skipped | None
) -> Iterator[Record]:
    rows = _cells(path, lines, dialect)
    number, names = next(rows, (1, []))
    if not dialect.header:
        rows = chain([(number, names)], rows)
        names = [str(column) for column in range(len(names))]
    _check_names(names, path)
    if dialect.header and dialect.delimiter == "\t":
        first = list(islice(rows, len(ROW_NAMES)))
        _check_tabs(names, [cells for _, cells in first], columns, path)
        rows = chain(first, rows)
    yield from usable(rows, partial(_record, path, names, dialect, _is_text(names, columns)), skipped)


def _cells(path: Path, lines: Iterable[str], dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of its first line, cells) of each row that is not blank."""
    number, reader = 1, cells_of(lines, **dialect.csv_options)
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


def _check_tabs(names: list[str], rows: list[list[str]], columns: Columns, path: Path) -> None:
    """Raise InputError where the names stand in quotes, and where each row begins with its number, which has no name:
    so does R write a table. A cell would be read as the one before it."""
    if not columns.name(names) and columns.name([name.strip('"') for name in names]):
        raise InputError(f"{path}: the names of its columns stand in quotes, which count with tabs: save it as CSV")
    numbers = [cells[0] for cells in rows if len(cells) == len(names) + 1]
    if numbers == ROW_NAMES and columns.name(names[:1]):
        raise InputError(f"{path}: its first column, which numbers the rows, has no name: add one (R: row.names=FALSE)")


def _is_quoted(cells: list[str]) -> bool:
    """Return whether a cell in quotes was cut at a tab: one cell opens them, a later one closes them."""
    halves = [cell for cell in cells if cell.count('"') % 2]
    return len(halves) > 1 and halves[0].startswith('"') and halves[1].endswith('"')


def _is_text(names: list[str], columns: Columns) -> bool:
    """Return whether the last column holds texts: it is asked for as one, or has a usual name."""
    asked = {columns.text, columns.pair} - {None}
    return not {*names[-1:], str(len(names) - 1)}.isdisjoint(asked or {*TEXTS, *TEXTS.values()})


def _check_cut(where: str, cells: list[str], names: list[str], text_last: bool) -> None:
    """Raise InputError for a row with tabs whose text was cut: at one of them, or at the end of a line."""
    said = f"{where}: {len(cells)} columns, but the first line has {len(names)}"
    if len(cells) > len(names) and _is_quoted(cells):
        raise InputError(f'{where}: {len(cells)} columns, one with a " that a later one closes; save it as CSV')
    if text_last and any(map(str.strip, cells[len(names) :])):
        raise InputError(f"{said}, {names[-1]!r} the last; if a text holds a tab, save it as CSV")
    if len(cells) < len(names) and cells[-1].startswith('"') and cells[-1].count('"') % 2:
        raise InputError(f'{said}, and the last one opens a "; if a text has several lines, save it as CSV')


def _record(path: Path, names: list[str], dialect: Dialect, text_last: bool, row: tuple[int, list[str]]) -> Record:
    """Return a row under the names. With tabs it may have cells behind these, unless the last name is that of a text,
    or lack some that nobody asks for."""
    number, cells = row
    where = f"{path}, line {number}"
    unmarked = [cells[0].removeprefix("\ufeff"), *cells[1:]]  # a file that was joined to another keeps its mark
    if dialect.header and unmarked == names and len(names) > 1:
        raise InputError(
            f"{where}: repeats the first line, the names of the columns; are two files joined? leave it out"
        )
    if len(cells) != len(names) and dialect.delimiter != "\t":
        raise InputError(f"{where}: {len(cells)} columns, but the first line has {len(names)}")
    if dialect.header and len(cells) != len(names):
        _check_cut(where, cells, names, text_last)
    return Record(where, number, dict(zip(names, cells, strict=False)))
