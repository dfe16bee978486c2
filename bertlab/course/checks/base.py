"""What every exercise checker is made of: a mistake with its name, and one way to expect things."""

from collections.abc import Callable
from functools import wraps


class Mistake(AssertionError):
    """What is wrong with an exercise, in one or two sentences; a notebook shows these and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"Not yet: {self}"]


def checker(check: Callable[..., None]) -> Callable[..., None]:
    """A check that calls an exercise not yet begun what it is, without a traceback."""

    @wraps(check)
    def run(fn, *args, **options) -> None:
        try:
            check(fn, *args, **options)
        except NotImplementedError:
            raise Mistake("write your code in place of `raise NotImplementedError`.") from None

    return run


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise Mistake(message)
