"""The gate for all files that are read: regular files of bounded size, opened once.

A file may come from anywhere, so none is opened before its kind and size are known: a named pipe never ends, and a file
of a few kilobytes can unfold into gigabytes.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from bertlab.errors import InputError, brief

MOST_BYTES = 32_000_000  # of a config, a vocabulary or an index; the largest published ones stay below ten
MOST_PIPED = 256_000_000  # bytes that come through a pipe, which are kept in memory
INHERITED = re.compile(r"/dev/stdin|(?:/dev|/proc/self)/fd/(\d+)")  # open since this process began: <(...) in a shell


_READ: ContextVar[dict[tuple[int, ...], bytes] | None] = ContextVar("read", default=None)  # of each_file_once


class InMemory(type(Path())):  # type: ignore[misc]  # the kind of path of this system
    """A path without a file, an upload for example: what is read from it is `content`."""

    content: bytes = b""


def present(path: Path) -> bool:
    """Return whether anything has this name, even a broken link. InputError where access is denied."""
    with _plain_errors(path):
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def expanded(path: str | Path) -> Path:
    """Return the path with ~ and ~user as their home folders. InputError: there is none, or no file has such a name."""
    try:
        path = Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(f"{path}: there is no home folder of this user") from error
    if "\0" in str(path):
        raise InputError(f"{path}: no file can have this name")
    return path


@contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    """Turn what the file system says into an InputError that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except InputError:
        raise
    except ValueError as error:  # a NUL, or half of a surrogate pair
        raise InputError(f"{path}: no file can have this name") from error


def file_below(folder: Path, name: Any, source: Path) -> Path:
    """Return the path of a file or folder that the file `source` names; "" is `folder` itself. InputError for a name
    that leads out of the folder, or that no file can have."""
    if not isinstance(name, str) or "\0" in name:
        raise InputError(f"{source}: {brief(name)} is no name of a file")
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise InputError(f"{source}: {brief(name)} lies outside this folder")
    return folder / name


def check_file(path: Path, most: int | None = None) -> int:
    """Return the size of a file in bytes. InputError if it is missing, no regular file or larger than `most`."""
    with _plain_errors(path):
        found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path}: not a regular file but {_kind(found.st_mode)}")
    if most is not None and found.st_size > most:
        raise InputError(f"{path}: {found.st_size:,} bytes; such a file has at most {most:,}")
    return found.st_size


def _kind(mode: int) -> str:
    kinds = {"a folder": stat.S_ISDIR, "a named pipe": stat.S_ISFIFO, "a socket": stat.S_ISSOCK}
    return next((name for name, is_kind in kinds.items() if is_kind(mode)), "a device")


def open_file(path: Path, most: int | None = None) -> BinaryIO:
    """Open a regular file of at most `most` bytes for reading. InputError names the file."""
    if isinstance(path, InMemory):
        return BytesIO(path.content)
    check_file(path, most)
    with _plain_errors(path):
        # A pipe that has taken the file's place since would block without the flag.
        return open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb")


def open_data(path: Path, most: int | None = None) -> BinaryIO:
    """Open a file that a user named for reading, or what a shell pipes to this process: /dev/stdin and <(command).

    A pipe is read to its end, because it can be read but once. InputError as for open_file, and for a pipe that brings
    nothing or more than MOST_PIPED bytes.
    """
    named = None if isinstance(path, InMemory) else INHERITED.fullmatch(str(path))
    with _plain_errors(path):
        mode = path.stat().st_mode if named else stat.S_IFREG
        if named is None or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return open_file(path, most)
        with open(os.dup(int(named[1] or 0)), "rb") as pipe:
            content = pipe.read(MOST_PIPED + 1)
    if not content:
        raise InputError(f"{path}: nothing came through this pipe; it can be read once")
    if len(content) > MOST_PIPED:
        raise InputError(f"{path}: more than {MOST_PIPED:,} bytes through a pipe; save them as a file first")
    return BytesIO(content)


def rereadable(path: Path) -> Path:
    """Return the path of a file that a user named; of a pipe, which can be read once, one that holds what came."""
    if not INHERITED.fullmatch(str(path)):
        return path
    held = InMemory(path)
    with open_data(path) as file:
        held.content = file.read()
    return held


@contextmanager
def each_file_once() -> Iterator[None]:
    """Keep the small files that `read_bytes` reads, in this thread and until the block ends, so that all of a command
    goes by one state of each: all parts that ask for a model's config.json share one reading. A file that was written
    anew since then is another one."""
    token = _READ.set({})
    try:
        yield
    finally:
        _READ.reset(token)


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file of at most `most` bytes. InputError names the file."""
    read = _READ.get()
    if read is None or most > MOST_BYTES or isinstance(path, InMemory):
        return _read_bytes(path, most)
    check_file(path, most)
    with _plain_errors(path):
        found = path.stat()
    state = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    if state not in read:
        read[state] = _read_bytes(path, most)
    return read[state]


def _read_bytes(path: Path, most: int) -> bytes:
    with open_file(path, most) as file, _plain_errors(path):
        content = file.read(most + 1)
    if len(content) > most:
        raise InputError(f"{path}: grew beyond {most:,} bytes while it was read")
    return content


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a UTF-8 file, without a byte order mark; limits and errors as for read_bytes."""
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from error
