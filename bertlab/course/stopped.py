"""Why a program could not be checked to its end, in one sentence."""

import _thread
import sysconfig
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bertlab.course.mistake import Mistake

COURSE = Path(__file__).parent
SOLUTIONS, STANDARD = COURSE / "solutions", Path(sysconfig.get_path("stdlib"))
LONGEST = 45  # seconds of a check; the slowest takes a few
CALLS = ("positional argument", "keyword argument", "not callable")  # what is wrong with the call itself
# Exceptions whose message tells enough without their name.
PLAIN = (ArithmeticError, AttributeError, RuntimeError, TypeError, UnboundLocalError, ValueError)


def why_it_stopped(error: Exception) -> str:
    """Say what an exception means that was raised in the reader's code, or on the way through what it gave."""
    message = str(error).partition("\n")[0].removesuffix(", but expected one of:")
    returned = not _lines_of_the_reader(error)
    if "modified by an inplace operation" in message:
        return (
            "backward() needs numbers that your code has overwritten (+=, x[...] = ..., or a name that ends with _): "
            "make a new tensor instead."
        )
    if "does not require grad" in message and returned:
        return (
            "no gradient passes your result: detach, no_grad, item, or a new tensor made from numbers cuts the way "
            "back."
        )
    if "NoneType" in message and returned:
        return "your function gives None where a result is asked for: is a `return` missing?"
    if message == "index out of range in self":
        message = "a table (nn.Embedding) has no row of that number: is an id too large, or are two arguments swapped?"
        return f"your code stopped: {message}"
    if returned and not any(word in message for word in CALLS):
        return f"your result is not of the kind that is asked for: {message}"
    if message and isinstance(error, PLAIN):
        return f"your code stopped: {message}"
    return f"your code stopped: {type(error).__name__}: {message}".removesuffix(": ")


@contextmanager
def ending() -> Iterator[None]:
    """Stop what does not end: after LONGEST seconds it is interrupted, as by the stop button, and a Mistake says so."""
    if threading.current_thread() is not threading.main_thread():  # which alone can be interrupted
        yield
        return
    over = threading.Event()

    def stop() -> None:
        over.set()
        _thread.interrupt_main()

    timer = threading.Timer(LONGEST, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except KeyboardInterrupt:
        if not over.is_set():
            raise
        raise Mistake(f"your code has not ended after {LONGEST} seconds: is there a loop that never does?") from None
    finally:
        timer.cancel()


def where_it_stopped(error: Exception) -> str:
    """The line of the reader's code that raised this, or nothing if the check did."""
    return next(reversed(_lines_of_the_reader(error)), "")


def _lines_of_the_reader(error: Exception) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)
    return [(frame.line or "")[:100] for frame in frames if _is_the_readers(frame.filename)]


def _is_the_readers(file: str) -> bool:
    path = Path(file)
    if path.parent == SOLUTIONS:  # which stand in for the reader's
        return True
    library = "site-packages" in path.parts or file.startswith("<frozen") or STANDARD in path.parents
    return not library and COURSE not in path.parents
