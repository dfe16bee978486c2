"""Files and folders that are written completely or not at all.

A full disk, a kill or an exception while saving must leave what was there before, so everything is
written in a hidden folder first and renamed into place when it is complete: a rename needs no space.

The hidden folder `.NAME.HASH.part` lies beside its target, or inside if that is a folder, and is locked by its writer.
The next write beside it removes it if its writer was killed.
"""

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from bertlab.errors import InputError
from bertlab.io.files import check_file, expanded

NEW, OLD, LOCK = "new", "old", "lock"  # in a hidden folder: what is written, what it replaces, the writer's lock
# What a folder is read for: texts, notebooks, the files of a model. Vectors or predictions may be written beside them.
READ_IN_FOLDERS = (".txt", ".md", ".ipynb", ".json", ".safetensors", ".bin")
STREAM = re.compile(r"/dev/std(?:in|out|err)|(?:/dev|/proc/self)/fd/\d+")


def keep_apart(out: str | Path, inputs: Iterable[str | Path]) -> None:
    """Raise an InputError where writing the file or folder `out` would replace one of `inputs`, which need not exist.

    Links and other spellings of a path do not hide that two names mean one file.
    """
    out = expanded(out)
    for given in (expanded(name) for name in inputs if str(name)):
        if os.path.exists(out) and os.path.exists(given) and _would_replace(out, given):
            raise InputError(f"--out {out}: would replace {given}, which is read; choose another name")


def _would_replace(out: Path, given: Path) -> bool:
    if out.samefile(given):
        return True
    if out.is_dir():
        return given.is_file() and _lies_in(out, given)
    if not given.is_dir() or out.suffix.lower() not in READ_IN_FOLDERS:
        return False
    # texts are read in subfolders, too
    below = out.suffix.lower() in (".txt", ".md") and any(map(given.samefile, out.resolve().parents))
    return below or _lies_in(given, out)


def _lies_in(folder: Path, file: Path) -> bool:
    return any(path.parent.samefile(folder) for path in (file.absolute(), file.resolve()))


def with_ending(out: Path, *endings: str) -> Path:
    """Return a path, with the first of the endings if it has none. InputError: it has one of another format."""
    if out.suffix and out.suffix not in endings:
        raise InputError(f"--out {out}: what is written is a {endings[0]} file; give that ending, or none")
    return out if out.suffix else out.with_suffix(endings[0])


def check_out(path: str | Path, folder: bool = False) -> None:
    """Raise an InputError, before the work for it, where no file (or `folder`) can be written to `path`."""
    path = _target(path)
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


def _target(path: str | Path) -> Path:
    """Return the absolute path of what is to be written. InputError: it has no name, or is a stream, which a rename
    would replace."""
    if path == "":
        raise InputError("an empty name is no file or folder to write to")
    path = expanded(path).absolute()
    if STREAM.fullmatch(str(path)):
        raise InputError(f"{path}: is a stream of this process; name a file")
    return path


@contextmanager
def atomic_folder(folder: str | Path) -> Iterator[Path]:
    """Give an empty folder to write in; on leaving without an error its content becomes `folder`.

    A new folder appears in one rename. In a folder that exists, entries of the same names are replaced
    and all others (notes, snapshots) stay; if one cannot be replaced, those before it are put back.
    On any exception the old content stays and the temporary folder goes.

    Raises InputError, naming the folder, where the file system refuses.
    """
    folder = _target(folder)
    with plain_errors(folder):
        # Inside an existing folder: this may be a mount point, where only the inside can be renamed.
        parent = folder if folder.exists() else folder.parent
        parent.mkdir(parents=True, exist_ok=True)
        with _workplace(parent, folder.name) as work:
            new, old = work / NEW, work / OLD
            new.mkdir()
            try:
                yield new
            except InputError as error:  # from an atomic_write inside: name the folder that the user knows
                raise InputError(str(error).replace(str(new), str(folder))) from error
            for file in filter(Path.is_file, new.rglob("*")):
                with open(file, "rb") as written:  # after a power cut, too, a renamed file is whole
                    os.fsync(written.fileno())
            if folder.exists():
                old.mkdir()
                _swap(new, folder, old)
            else:
                new.rename(folder)


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

    Raises InputError, naming the file, where the file system refuses, and where a folder or a device has that name.
    """
    path = _target(path)
    with plain_errors(path):
        if path.exists():
            check_file(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _workplace(path.parent, path.name) as work:
            with open(work / NEW, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(work / NEW, path)


@contextmanager
def _workplace(parent: Path, name: str) -> Iterator[Path]:
    """Give a hidden folder in `parent`, locked until it is removed again; first sweep those of killed processes."""
    _sweep(parent)
    work, lock = _locked_folder(parent, name)
    try:
        yield work
    finally:
        lock.release(force=True)
        shutil.rmtree(work, ignore_errors=True)


def _locked_folder(parent: Path, name: str) -> tuple[Path, FileLock]:
    while True:
        work = parent / f".{name[:60]}.{secrets.token_hex(4)}.part"
        work.mkdir()
        lock = FileLock(work / LOCK, timeout=0)
        try:
            lock.acquire()
        except (Timeout, FileNotFoundError):  # another process swept it before it was locked
            continue
        except OSError:  # a file system without locks, where nothing is swept
            pass
        return work, lock


def _sweep(parent: Path) -> None:
    """Remove the hidden folders in `parent` whose writers were killed; a swap of entries that had begun is ended."""
    for work in parent.glob(".*.????????.part"):
        lock = FileLock(work / LOCK, timeout=0)
        with suppress(Timeout, OSError):
            if not {LOCK} <= {entry.name for entry in work.iterdir()} <= {NEW, OLD, LOCK}:
                continue
            lock.acquire()
            if (work / OLD).exists() and (work / NEW).exists():
                _swap(work / NEW, parent, work / OLD)
            lock.release()
            shutil.rmtree(work, ignore_errors=True)


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
    """Turn the file system's refusals, and text that UTF-8 cannot hold, into an InputError that names `path`."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InputError(f"{path}: not written, a text in it has half of a surrogate pair (broken Unicode)") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path}: cannot be written ({reason}); what was there before is unchanged") from error
