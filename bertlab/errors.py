"""The error for bad input, and text from files and users made safe to print."""

import sys
import unicodedata
from functools import cache
from importlib.util import find_spec
from typing import Any

LONGEST_MESSAGE = 600  # characters


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one line: where (file, line, argument), what is wrong, what to do. Control characters in it, from a
    file's name for example, are escaped, and one that is long because of what a file holds is cut in the middle.
    """

    def __init__(self, message: str):
        super().__init__(shortened(printable(shortened(message))))


def shortened(text: str, most: int = LONGEST_MESSAGE) -> str:
    """Return a text of at most `most` characters: its first two thirds and its end, where it is longer."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]} ... {text[len(text) - most + head + 5 :]}"


def require(module: str, extra: str) -> None:
    """Raise an InputError that says how to install `module` where it is missing."""
    if find_spec(module) is None:
        raise InputError(f'{module} is not installed: pip install "bertlab[{extra}]"')


@cache
def can_use(module: str, extra: str, lost: str) -> bool:
    """Return whether `module` is installed; if not, stderr says once what is `lost` and how to install it."""
    try:
        require(module, extra)
    except InputError as error:
        print(f"bertlab: without {lost}: {error}", file=sys.stderr)
        return False
    return True


def at_least_one(**counts: int | None) -> None:
    """Raise an InputError that names the first of the counts that is below 1."""
    for name, value in counts.items():
        if value is not None and value < 1:
            raise InputError(f"{name}={value}: must be at least 1")


MOST_ROWS = 65_536  # of a batch; more have not paid (You et al. 2020), and memory ends much sooner


def check_batch_size(rows: int | None) -> None:
    """Raise an InputError for a batch of no rows, or of more than any machine holds."""
    if rows is not None and not 1 <= rows <= MOST_ROWS:
        raise InputError(f"batch_size={rows}: must be between 1 and {MOST_ROWS:,}")


def check_seed(seed: int) -> None:
    """Raise an InputError for a seed that numpy's generators do not take."""
    if not 0 <= seed < 2**32:
        raise InputError(f"seed={seed}: must be between 0 and {2**32 - 1}")


OVERRIDES = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")  # they turn the text around them


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter that has a direction is one of Hebrew, Arabic or another script that runs to the
    left."""
    directions = (unicodedata.bidirectional(letter) for letter in text)
    return next((direction for direction in directions if direction in ("L", "R", "AL")), "L") != "L"


def printable(text: str) -> str:
    """Return `text` with the characters escaped that would steer a terminal.

    They are control characters, line ends, halves of surrogate pairs, and marks that reverse the direction of writing.
    "a\\x1b[31m" -> "a\\\\x1b[31m".
    """
    if text.isprintable():
        return text
    return "".join(_escaped(letter) if _steers(letter) else letter for letter in text)


def _steers(letter: str) -> bool:
    kind = unicodedata.category(letter)
    return kind in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(letter) in OVERRIDES


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def brief(value: Any, most: int = 80) -> str:
    """Return the repr of a value from a file, cut so that it fits in a message."""
    shown = repr(value[: most * 2] if isinstance(value, str | list) else value)
    return shown if len(shown) <= most else shown[: most - 3] + "..."
