"""One training at a time writes to a run folder."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from bertlab.errors import InputError

NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}  # of some network file systems


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder`/.lock; the operating system lets go of it when the process ends, whatever ends it.

    Makes the folder if need be; if nothing was written to it in the end, it goes again. Raises InputError at once if
    another training holds the lock, and where the folder cannot be written. A file system without locks is named on
    stderr, and the training goes on without one.
    """
    path = folder / ".lock"
    lock = FileLock(path, timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        message = f"{folder}: another training is writing to it; wait until it has ended, or choose another --out"
        raise InputError(message) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise InputError(f"cannot use the run folder {folder}: {error.strerror}") from error
        print(f"bertlab: {folder}: this file system has no locks; start no second training there", file=sys.stderr)
    try:
        yield
    finally:
        with suppress(OSError):  # while it is held, so that nobody waits for a file that is gone
            path.unlink()
        lock.release()
        with suppress(OSError):
            folder.rmdir()
