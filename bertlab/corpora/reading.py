"""Text files of any encoding, and rows that cannot be used."""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TextIO, TypeVar

from bertlab.errors import InputError

SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can hold one alone

Row = TypeVar("Row")
Example = TypeVar("Example")


@dataclass
class Skipped:
    """Counts the rows that a reader leaves out: those that cannot be used, unless the first of them is to `stop` the
    reading, and keeps the reason of the first; those with an `unwanted` label, by label."""

    count: int = 0
    first: str = ""
    stop: bool = False
    unwanted: frozenset[str] = frozenset()
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, reason: InputError) -> None:
        self.first = self.first or str(reason)
        self.count += 1

    def wants(self, labels: Iterable[str]) -> bool:
        """Return whether none of the labels of a row is unwanted; else count it."""
        found = self.unwanted.intersection(labels)
        self.labels.update(found)
        return not found

    def __bool__(self) -> bool:
        """Whether any row was left out."""
        return bool(self.count or self.labels)

    def __str__(self) -> str:
        parts = [f"left out {rows(count)} labelled {label!r}" for label, count in self.labels.most_common()]
        return "; ".join(parts + [f"left out {rows(self.count)}; the first: {self.first}"] * bool(self.count))


def rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def usable(found: Iterable[Row], read: Callable[[Row], Example], skipped: Skipped | None) -> Iterator[Example]:
    """Yield `read(row)` of each row. A row that raises InputError is left out and counted if there is `skipped`, unless
    that is to stop there."""
    for row in found:
        try:
            example = read(row)
        except InputError as error:
            if skipped is None or skipped.stop:
                raise
            skipped.add(error)
        else:
            yield example


def check_text(text: object, where: str) -> str:
    """Return the text, if a model can read it; InputError names what is wrong, and `where`."""
    if not isinstance(text, str):
        raise InputError(f"{where} holds no text but {text!r:.40}")
    if not text.strip():
        raise InputError(f"{where} is empty")
    if "\0" in text:
        raise InputError(f"{where} holds a NUL character; is the file UTF-16? then give --encoding utf-16-le")
    if SURROGATE.search(text):
        raise InputError(f"{where} holds half of a surrogate pair (broken Unicode)")
    return text


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return all text of a file; errors are those of `open_text`."""
    with open_text(path, encoding) as file:
        return file.read()


@contextmanager
def open_text(path: Path, encoding: str = "utf-8", newline: str | None = None) -> Iterator[TextIO]:
    """Open a file for reading, without its byte order mark; a mark of UTF-16 overrides `encoding`.

    InputError names a file that cannot be read, an unknown encoding, or the byte that does not fit it.
    """
    try:
        with path.open(encoding=_codec(path, encoding), newline=newline) as file:
            try:
                yield file
            except UnicodeError as error:
                raise InputError(f"{path}: not {encoding.upper()} {_place(error, file)}; {_advice(path)}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def _codec(path: Path, encoding: str) -> str:
    try:
        "a".encode(encoding)
    except (LookupError, ValueError) as error:
        raise InputError(f"--encoding {encoding}: no such encoding; utf-8, cp1252 and gb18030 are some") from error
    if codecs.lookup(encoding).name != "utf-8":
        return encoding
    with path.open("rb") as file:
        return "utf-16" if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def _place(error: UnicodeError, file: TextIO) -> str:
    """Return where in the file the error is; the error itself counts from the start of a chunk."""
    if not isinstance(error, UnicodeDecodeError):
        return "(no byte order mark: utf-16-le or utf-16-be?)"
    return f"at byte {file.buffer.tell() - len(error.object) + error.start}"


def _advice(path: Path) -> str:
    """Return what to do about the encoding. cp1252 is tried first: where it fits, rarer encodings fit too, and would
    rank before it."""
    from charset_normalizer import from_bytes

    with path.open("rb") as file:
        sample = b"".join(islice((line for line in file if not line.isascii()), 200))
    likely = from_bytes(sample, cp_isolation=["cp1252"]).best() or from_bytes(sample).best()
    if likely is None:
        return "save it as UTF-8, if it is text at all"
    return f"it looks like {likely.encoding}: give --encoding {likely.encoding}, or save it as UTF-8"
