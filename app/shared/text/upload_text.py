"""A text file from the visitor's browser, which the library's readers read from memory."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from bertlab.errors import InputError
from bertlab.io.files import InMemory

FLAGS = re.compile(r"(; see | then give |; | \(see )?--[a-z][^;)]*\)?")  # what only the command line has


def uploaded_file(name: str, content: bytes) -> InMemory:
    """Return the file as a path, which messages name as the visitor does. InputError unless it is UTF-8, or UTF-16,
    which its first two bytes show."""
    path = InMemory(Path(name).name or "file")
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
