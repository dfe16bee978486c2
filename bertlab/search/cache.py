"""Results that take minutes to make, kept in the user's cache folder: $XDG_CACHE_HOME/bertlab or ~/.cache/bertlab.

A file begins with a line that holds a key, of all that the result depends on, and a hash of what follows. One that is
damaged or has another key is made anew; where the folder cannot be written, nothing is kept.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from bertlab.errors import InputError
from bertlab.io.atomic import atomic_write
from bertlab.io.files import read_bytes

Result = TypeVar("Result")
MOST_BYTES = 4_000_000_000


def cache_folder() -> Path:
    """Return the folder of kept results; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bertlab"


def cached(name: str, key: str, make: Callable[[], bytes], read: Callable[[bytes], Result]) -> Result:
    """Return `read` of the kept content of the file `name`, or of what `make` returns, which is then kept."""
    path = cache_folder() / name
    content = _kept(path, key)
    if content is None:
        content = make()
        with suppress(InputError):
            atomic_write(path, f"{key} {hashlib.sha256(content).hexdigest()}\n".encode() + content)
    return read(content)


def _kept(path: Path, key: str) -> bytes | None:
    try:
        head, _, content = read_bytes(path, MOST_BYTES).partition(b"\n")
    except InputError:
        return None
    return content if head.decode("ascii", "replace") == f"{key} {hashlib.sha256(content).hexdigest()}" else None
