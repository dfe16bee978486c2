"""A text file from the visitor's browser, which the library's readers read from memory."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, Any

from bertlab.errors import InputError

FLAGS = re.compile(r"(; see | then give |; | \(see )?--[a-z][^;)]*\)?")  # what only the command line has


class Uploaded(type(Path())):  # type: ignore[misc]  # the kind of path of this system
    """A path without a file: what is read from it is `content`. Messages about it name the file as the visitor does."""

    content: bytes = b""

    def open(self, mode: str = "r", buffering=-1, encoding=None, errors=None, newline=None) -> IO[Any]:
        memory = BytesIO(self.content)
        return memory if "b" in mode else TextIOWrapper(memory, encoding, errors, newline)


def uploaded_file(name: str, content: bytes) -> Uploaded:
    """Return the file as a path. InputError unless it is UTF-8, or UTF-16, which its first two bytes show."""
    path = Uploaded(Path(name).name or "file")
    path.content = content
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return path
    if b"\0" in content:
        raise InputError(f"{path}: holds NUL characters, so it is no plain text; save it as UTF-8 and choose it again")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8 and choose it again") from error
    return path


def without_flags(message: str) -> str:
    """Return a message of a reader without the advice that is for the command line."""
    return FLAGS.sub("", message)
