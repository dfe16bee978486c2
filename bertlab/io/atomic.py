"""Files and folders that are written completely or not at all.

A full disk, a kill or an exception while saving must leave what was there before, so everything is
written under a hidden name first and renamed into place when it is complete: a rename needs no space.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from bertlab.errors import InputError


def check_out(path: str | Path, folder: bool = False) -> None:
    """Raise an InputError, before the work for it, where no file (or `folder`) can be written to `path`."""
    path = Path(path).expanduser().absolute()
    with plain_errors(path):
        if path.exists() and path.is_dir() != folder:
            code = errno.ENOTDIR if folder else errno.EISDIR
            raise OSError(code, os.strerror(code))
        place = path if folder else path.parent
        while not place.exists():
            place = place.parent
        if not place.is_dir():
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(place, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def atomic_folder(folder: str | Path) -> Iterator[Path]:
    """Give an empty folder to write in; on leaving without an error its content becomes `folder`.

    A new folder appears in one rename. In a folder that exists, entries of the same names are replaced
    and all others (notes, snapshots) stay; if one cannot be replaced, those before it are put back.
    On any exception the old content stays and the temporary folder goes.

    Raises InputError, naming the folder, where the file system refuses.
    """
    folder = Path(folder).expanduser().absolute()
    with plain_errors(folder):
        # Inside an existing folder: this may be a mount point, where only the inside can be renamed.
        parent = folder if folder.exists() else folder.parent
        parent.mkdir(parents=True, exist_ok=True)
        work = _hidden_name(parent, folder.name)
        new, old = work / "new", work / "old"
        try:
            work.mkdir()
            new.mkdir()
            yield new
            if folder.exists():
                old.mkdir()
                _swap(new, folder, old)
            else:
                new.rename(folder)
        except InputError as error:  # from an atomic_write inside: name the folder that the user knows
            raise InputError(str(error).replace(str(new), str(folder))) from error
        finally:
            shutil.rmtree(work, ignore_errors=True)


def atomic_write(path: str | Path, content: str | bytes) -> None:
    """Write a text (as UTF-8) or bytes to `path`: readers see the old content or the new, never a part.

    Raises InputError, naming the file, where the file system refuses.
    """
    with atomic_file(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def atomic_lines(path: str | Path, lines: Iterable[str]) -> int:
    """Write texts to a UTF-8 file as they come and return their number; the file appears when all are written.

    Raises InputError, naming the file, where the file system refuses; whatever `lines` raises leaves no file.
    """
    count = 0
    with atomic_file(path) as file:
        for line in lines:
            file.write(line.encode("utf-8"))
            count += 1
    return count


@contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when it is left without an error.

    Raises InputError, naming the file, where the file system refuses.
    """
    path = Path(path).expanduser().absolute()
    with plain_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        work = _hidden_name(path.parent, path.name)
        try:
            with open(work, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(work, path)
        finally:
            work.unlink(missing_ok=True)


def _hidden_name(parent: Path, name: str) -> Path:
    return parent / f".{name[:60]}.{secrets.token_hex(4)}.part"


def _swap(new: Path, folder: Path, old: Path) -> None:
    """Move the entries of `new` into `folder` and those they replace to `old`; undo all on a failure."""
    names = sorted(entry.name for entry in new.iterdir())
    try:
        for name in names:
            if (folder / name).exists():
                (folder / name).rename(old / name)
            (new / name).rename(folder / name)
    except BaseException:
        for name in names:
            if not (new / name).exists():
                (folder / name).rename(new / name)
            if (old / name).exists():
                (old / name).rename(folder / name)
        raise


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn the file system's refusals into an InputError that names `path`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path}: cannot be written ({reason}); what was there before is unchanged") from error
