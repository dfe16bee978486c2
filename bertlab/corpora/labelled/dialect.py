"""The dialect of a table: how its lines are cut into cells, found from the first lines, not from the file's name."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertlab.corpora.labelled.columns import Columns
from bertlab.corpora.reading import LONGEST_TEXT

SAMPLE_LINES, SAMPLE_CHARACTERS = 100, 100_000
DELIMITERS = "\t,;|"
LABEL_FIRST = re.compile(r'([^\s,;|"]+) +(\S.*)', re.DOTALL)  # as in "1 a fine film"
FEW = re.compile(r"[+-]?\d{1,2}")  # numbers that may be labels; 2014 begins a sentence


@dataclass(frozen=True)
class Dialect:
    """`delimiter` is what separates the cells: "" where a line is one cell, " " for a label, blanks and a text.
    `header`: the first line names the columns."""

    delimiter: str
    header: bool

    @property
    def csv_options(self) -> dict:
        """The options of csv.reader. Published files with tabs, those of GLUE for example, are written without quoting:
        a " is a ", and must not join the lines up to the next one."""
        if self.delimiter == "\t":
            return {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
        return {"delimiter": self.delimiter, "strict": True}


def sample_of(lines: Iterator[str]) -> list[str]:
    """Take the first lines, enough to find the dialect by."""
    sample, size = list[str](), 0
    while len(sample) < SAMPLE_LINES and size < SAMPLE_CHARACTERS and (line := next(lines, "")):
        sample.append(line)
        size += len(line)
    return sample


def cells_of(lines: Iterable[str], **options: Any) -> Any:
    """Return a csv.reader with these options; its cells may be as long as a text."""
    csv.field_size_limit(LONGEST_TEXT)  # the module's own 131,072 are less than some documents
    return csv.reader(lines, **options)


def dialect_of(sample: Sequence[str], columns: Columns, path: Path) -> Dialect:
    """Return the dialect of a file from its first lines and the columns that are asked for.

    A first line with the name of a column decides; in a .txt file, which has a text a line, one name alone does so only
    where it is asked for. Last counts which delimiter cuts all lines into equally many cells;
    csv.Sniffer would be quadratic in the number of quotes.
    """
    rows = [line for line in sample if line.strip()]
    first = rows[0][:SAMPLE_CHARACTERS].rstrip("\r\n") if rows else ""
    usual = "," if path.suffix.lower() == ".csv" else "\t"
    for delimiter in [one for one in DELIMITERS if one in first] or usual:
        cells: list[str] = next(cells_of([first], delimiter=delimiter), [])
        if columns.name(cells) and (len(cells) > 1 or columns.text in cells or path.suffix.lower() != ".txt"):
            return Dialect(delimiter, header=True)
    if _labels_first(rows, columns, path):
        return Dialect(" ", header=False)
    if "\t" in first:
        return Dialect("\t", header=not columns.by_number)
    if columns.by_number or path.suffix.lower() in (".csv", ".tsv"):
        return Dialect(_dividing(rows), header=not columns.by_number)
    return Dialect("", header=False)


def _labels_first(rows: Sequence[str], columns: Columns, path: Path) -> bool:
    """Return whether each row is a label, a blank and a text. Labels repeat; they are whole numbers of one or two
    digits, or columns 0 and 1 are asked for as label and text. Of a .csv file whose columns are asked for otherwise by
    their numbers, a delimiter counts first."""
    found = [match[1] for row in rows if (match := LABEL_FIRST.fullmatch(row))]
    if not rows or len(found) < len(rows) or 2 * len(set(found)) > len(found) or "\t" in rows[0]:
        return False
    is_csv, asked = path.suffix.lower() == ".csv", (columns.label, columns.text) == ("0", "1")
    if is_csv and columns.by_number and not asked and _width(rows, _dividing(rows)) > 1:
        return False
    return (asked and not is_csv) or all(map(FEW.fullmatch, found))


def _dividing(rows: Sequence[str]) -> str:
    """Return the delimiter that cuts all rows into equally many cells, two or more; of several the first without a
    blank behind it in each row, as the commas of prose have; of none the commonest in the first row."""
    found = [delimiter for delimiter in DELIMITERS[1:] if _width(rows, delimiter) > 1]
    found = [delimiter for delimiter in found if not all(f"{delimiter} " in row for row in rows)] or found
    return found[0] if found else max(DELIMITERS[1:], key=rows[0].count) if rows else ","


def _width(rows: Sequence[str], delimiter: str) -> int:
    """Return the number of cells that all rows have; 0 if they differ. The last one may be cut within quotes."""
    widths = set[int]()
    with suppress(csv.Error):
        widths.update(map(len, cells_of(rows, delimiter=delimiter, strict=True)))
    return widths.pop() if len(widths) == 1 else 0
