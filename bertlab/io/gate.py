"""The gate for all files of a checkpoint folder: regular files of bounded size, JSON of bounded depth.

A folder may come from anywhere, so no file of it is opened before its kind and size are known: a named pipe never
ends, and a file of a few kilobytes can unfold into gigabytes.
"""

import json
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

from bertlab.errors import InputError

MOST_BYTES = 32_000_000  # of a config, a vocabulary or an index; the largest published ones stay below ten
MOST_DEPTH = 50  # of JSON; published files have no more than five


def present(path: Path) -> bool:
    """Return whether anything has this name, even a broken link. InputError where access is denied."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    return True


def check_file(path: Path, most: int | None = None) -> int:
    """Return the size of a file in bytes. InputError if it is missing, no regular file or larger than `most`."""
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path}: not a regular file; copy or download it again")
    if most is not None and found.st_size > most:
        raise InputError(f"{path}: {found.st_size:,} bytes; such a file has at most {most:,}")
    return found.st_size


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file of at most `most` bytes. InputError names the file."""
    check_file(path, most)
    try:
        # A pipe that has taken the file's place since would block without the flag.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(content) > most:
        raise InputError(f"{path}: grew beyond {most:,} bytes while it was read")
    return content


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a UTF-8 file; limits and errors as for read_bytes."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from error


def read_json(path: Path, most: int = MOST_BYTES) -> dict[str, Any]:
    """Return the JSON object in a file. InputError names the file.

    It is raised for a file that is missing, damaged, nested too deeply, gives a name twice or holds no object.
    """
    values = parse_json(read_text(path, most), path)
    if not isinstance(values, dict):
        raise InputError(f"{path}: not a JSON object (names and values in braces)")
    return values


def parse_json(text: str, path: Path) -> Any:
    """Return the value of a JSON text. InputError, naming `path`, as for read_json."""
    too_deep = InputError(f"{path}: JSON nested more than {MOST_DEPTH} levels deep")
    try:
        values = json.loads(text, object_pairs_hook=_without_repeats)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except ValueError as error:
        raise InputError(f"{path}: cannot be read as JSON ({error})") from error
    except RecursionError:
        raise too_deep from None
    if _deeper_than(MOST_DEPTH, values):
        raise too_deep
    return values


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        repeated = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise InputError(f"{brief(repeated)} is given twice")
    return values


def _deeper_than(most: int, value: Any) -> bool:
    """Return whether lists and objects are nested on more than `most` levels."""
    level: list[dict | list] = [[value]]
    for _ in range(most + 1):
        children = (entry.values() if isinstance(entry, dict) else entry for entry in level)
        level = [child for entries in children for child in entries if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def brief(value: Any, most: int = 80) -> str:
    """Return the repr of a value from a file, cut so that it fits in a message."""
    shown = repr(value[: most * 2] if isinstance(value, str | list) else value)
    return shown if len(shown) <= most else shown[: most - 3] + "..."
