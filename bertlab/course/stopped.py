"""Why a program could not be checked to its end, in one sentence."""

import sysconfig
import traceback
from pathlib import Path

COURSE = Path(__file__).parent
SOLUTIONS, STANDARD = COURSE / "solutions", Path(sysconfig.get_path("stdlib"))
CALLS = ("positional argument", "keyword argument", "not callable")  # what is wrong with the call itself


def why_it_stopped(error: Exception) -> str:
    """Say what an exception means that was raised in the reader's code, or on the way through what it gave."""
    said = str(error).partition("\n")[0]
    if "modified by an inplace operation" in said:
        return (
            "backward() needs numbers that your code has overwritten (+=, x[...] = ..., or a name that ends with _): "
            "make a new tensor instead."
        )
    if "does not require grad" in said and _in_the_check(error):
        return (
            "no gradient passes your result: detach, no_grad, item, or a new tensor made from numbers cuts the way "
            "back."
        )
    if "NoneType" in said and _in_the_check(error):
        return "your function gives None where a result is asked for: is a `return` missing?"
    if _in_the_check(error) and not any(word in said for word in CALLS):
        return f"your result is not of the kind that is asked for: {said}"
    plain = bool(said) and isinstance(
        error, ArithmeticError | AttributeError | RuntimeError | TypeError | UnboundLocalError | ValueError
    )
    return f"your code stopped: {said if plain else f'{type(error).__name__}: {said}'}".removesuffix(": ")


def _in_the_check(error: Exception) -> bool:
    """Whether the reader's code had returned, and the check was looking at what it gave."""
    return not any(_is_the_readers(frame.filename) for frame in traceback.extract_tb(error.__traceback__))


def _is_the_readers(file: str) -> bool:
    path = Path(file)
    if path.parent == SOLUTIONS:  # which stand in for the reader's
        return True
    library = "site-packages" in path.parts or file.startswith("<frozen") or STANDARD in path.parents
    return not library and COURSE not in path.parents
