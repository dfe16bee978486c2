"""The dialect of a table: how its lines are cut into cells, found from the first lines, not from the file's name."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bertlab.corpora.labelled.columns import Columns

SAMPLE = 100  # lines
DELIMITERS = "\t,;|"
LABEL_FIRST = re.compile(r'([^\s,;|"]+) +(\S.*)', re.DOTALL)  # as in "1 a fine film"
WHOLE_NUMBER = re.compile(r"[+-]?\d+")


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


def dialect_of(sample: Sequence[str], columns: Columns, path: Path) -> Dialect:
    """Return the dialect of a file from its first lines and the columns that are asked for.

    A first line with the name of a column decides. csv.Sniffer is asked last: in text with commas and quotes it prefers
    them to tabs.
    """
    rows = [line for line in sample if line.strip()]
    first = rows[0].rstrip("\r\n") if rows else ""
    for delimiter in [one for one in DELIMITERS if one in first] or _usual(path):
        if columns.name(next(csv.reader([first], delimiter=delimiter), [])):
            return Dialect(delimiter, header=True)
    if _labels_first(rows, columns, path):
        return Dialect(" ", header=False)
    if "\t" in first:
        return Dialect("\t", header=not columns.by_number)
    if columns.by_number or path.suffix.lower() in (".csv", ".tsv"):
        return Dialect(_sniffed(rows), header=not columns.by_number)
    return Dialect("", header=False)


def _usual(path: Path) -> str:
    return "," if path.suffix.lower() == ".csv" else "\t"


def _labels_first(rows: Sequence[str], columns: Columns, path: Path) -> bool:
    """Return whether each row is a label, a blank and a text. Labels repeat; they are whole numbers, or columns 0 and 1
    are asked for as label and text."""
    found = [match[1] for row in rows if (match := LABEL_FIRST.fullmatch(row))]
    if not rows or len(found) < len(rows) or 2 * len(set(found)) > len(found) or "\t" in rows[0]:
        return False
    asked = (columns.label, columns.text) == ("0", "1") and path.suffix.lower() != ".csv"
    return asked or all(map(WHOLE_NUMBER.fullmatch, found))


def _sniffed(rows: Sequence[str]) -> str:
    try:
        return csv.Sniffer().sniff("".join(rows), DELIMITERS[1:]).delimiter
    except csv.Error:  # it finds none
        return ","
