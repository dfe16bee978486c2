"""Text files of any encoding, and rows that cannot be used."""

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO, TypeVar

from bertlab.errors import InputError
from bertlab.io.files import INHERITED, open_data
from bertlab.io.json_files import SURROGATE

MOST_BYTES = 2_000_000_000  # of a text or a JSON file, which is read whole
LONGEST_LINE = 10_000_000  # characters
BEGINNING = 4096  # characters that show whether a file is text
LONGEST_TEXT = 1_000_000  # characters of one example; what a model reads of it is a few thousand
SAMPLE_LINES, SAMPLE_BYTES = 200, 100_000  # by which an encoding is guessed
# First bytes of files that are often given for text.
OTHER_FILES = {b"PAR1": "Parquet", b"PK\3\4": "ZIP, Excel or Word", b"%PDF": "PDF", b"\x1f\x8b": "gzip"}

JSON_START = re.compile(r'\s*(?:\[\s*)?\{\s*"[^"]*"\s*:')  # of an object with named values, or of a list of them

UNSEEN = frozenset("Cc Cf Co Zs Zl Zp Mn Mc Me".split())  # kinds of characters

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
    if len(text) > LONGEST_TEXT:
        raise InputError(f"{where} holds {len(text):,} characters; a text has at most {LONGEST_TEXT:,}: cut it")
    if not text.strip():
        raise InputError(f"{where} is empty")
    if "\0" in text:
        raise InputError(f"{where} holds a NUL character; is the file UTF-16? then give --encoding utf-16-le")
    if SURROGATE.search(text):
        raise InputError(f"{where} holds half of a surrogate pair (broken Unicode)")
    if is_blank(text):
        raise InputError(f"{where} is empty but for characters that do not show: {ascii(text):.40}")
    return text


def is_blank(text: str) -> bool:
    """Return whether nothing of a text shows: it holds blanks, control characters, zero-width ones, or marks without a
    letter. A tokenizer finds no token in it."""
    return all(unicodedata.category(letter) in UNSEEN for letter in text)


def read_text(path: Path, encoding: str = "utf-8", *, option: bool = True) -> str:
    """Return all text of a file; errors are those of `open_text`. Without `option` they do not name --encoding."""
    with _opened(path, encoding, most=MOST_BYTES, option=option) as file:
        return "".join(_lines(file, path))


def read_beginning(path: Path, encoding: str = "utf-8", *, option: bool = False) -> str:
    """Return the beginning of a file's first line; errors are those of `read_text`, as far as a file shows them without
    being read whole. "" of what comes through a pipe, which can be read but once."""
    if INHERITED.fullmatch(str(path)):
        return ""
    with _opened(path, encoding, most=MOST_BYTES, option=option) as file:
        return file.readline(BEGINNING)


def check_prose(text: str, path: Path, advice: str = "write its texts to a .txt file") -> None:
    """Raise an InputError for a file that begins with a JSON object: its names and braces are no text to read."""
    if JSON_START.match(text):
        raise InputError(f"{path}: begins with a JSON object, not with text: {advice}")


def read_json_text(path: Path, encoding: str) -> str:
    """Return all text of a JSON file, which may be one line; other errors are those of `open_text`."""
    with _opened(path, encoding, most=MOST_BYTES) as file:
        return file.read()


@contextmanager
def open_text(path: Path, encoding: str = "utf-8", newline: str | None = None) -> Iterator[Iterator[str]]:
    """Give the lines of a file, without its byte order mark; a mark of UTF-16 or UTF-32 overrides any other UTF.

    InputError names a file that cannot be read, an unknown encoding, the byte that does not fit it, or a line of more
    than LONGEST_LINE characters.
    """
    with _opened(path, encoding, newline) as file:
        yield _lines(file, path)


@contextmanager
def _opened(
    path: Path, encoding: str, newline: str | None = None, most: int | None = None, option: bool = True
) -> Iterator[TextIO]:
    with open_data(path, most) as binary:
        file = TextIOWrapper(binary, _codec(binary, encoding), newline=newline)
        try:
            yield file
        except UnicodeError as error:
            where = f"{path}: not {encoding.upper()} {_place(error, binary)}"
            raise InputError(f"{where}; {_advice(binary, option)}") from error
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise InputError(f"{path}, line {number}: more than {LONGEST_LINE:,} characters; break it into lines")
        yield line


def _codec(file: BinaryIO, encoding: str) -> str:
    """Return the encoding of a file of which nothing is read yet, or that of its byte order mark."""
    try:
        "a".encode(encoding)
    except (LookupError, ValueError) as error:
        raise InputError(f"--encoding {encoding}: no such encoding; utf-8, cp1252 and gb18030 are some") from error
    name = codecs.lookup(encoding).name
    if not name.startswith("utf"):
        return encoding
    mark = file.read(4)
    file.seek(0)
    if mark in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "utf-32"
    if mark[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    return "utf-8-sig" if name == "utf-8" else encoding


def _place(error: UnicodeError, file: BinaryIO) -> str:
    """Return where in the file the error is; the error itself counts from the start of a chunk."""
    if not isinstance(error, UnicodeDecodeError):
        return "(no byte order mark: utf-16-le or utf-16-be?)"
    return f"at byte {file.tell() - len(error.object) + error.start}"


def _advice(file: BinaryIO, option: bool) -> str:
    """Return what to do about the encoding. cp1252 is tried first: where it fits, rarer encodings fit too, and would
    rank before it."""
    from charset_normalizer import from_bytes

    file.seek(0)
    beginning = file.read(4)
    if kind := next((kind for mark, kind in OTHER_FILES.items() if beginning.startswith(mark)), ""):
        return f"it is a {kind} file, not text: give what it holds as text, CSV or JSON lines"
    if beginning.count(0) == 2:  # two ASCII letters; from line to line the order of the bytes cannot be told
        likely = "utf-16-le" if beginning[0] else "utf-16-be"
    else:
        sample = _not_ascii(file)
        found = from_bytes(sample, cp_isolation=["cp1252"]).best() or from_bytes(sample).best()
        if found is None:
            return "save it as UTF-8, if it is text at all"
        likely = found.encoding
    given = f"give --encoding {likely}, or " if option else ""
    return f"it looks like {likely}: {given}save it as UTF-8"


def _not_ascii(file: BinaryIO) -> bytes:
    """Return the first lines of a file that are not ASCII."""
    file.seek(0)
    found, size = list[bytes](), 0
    while len(found) < SAMPLE_LINES and size < SAMPLE_BYTES and (line := file.readline(SAMPLE_BYTES)):
        if not line.isascii():
            found.append(line)
            size += len(line)
    return b"".join(found)
