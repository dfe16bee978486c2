"""What all checks share: comparing tensors, and calling what the reader wrote."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from bertlab.course.mistake import Mistake
from bertlab.course.observe import expect


def close(result: Tensor, right: Tensor) -> bool:
    return result.shape == right.shape and torch.allclose(result.float(), right.float(), atol=1e-5)


def none_of(result: Tensor, known: Sequence[tuple[Tensor, str]]) -> None:
    """Name the mistake whose outcome this is."""
    for wrong, message in known:
        expect(not close(result, wrong), message)


def run(fn: Callable, *args: object) -> Any:
    """Call the reader's function; what torch says about shapes becomes a Mistake."""
    try:
        return fn(*args)
    except NotImplementedError:
        raise
    except (AttributeError, IndexError, RuntimeError, TypeError, UnboundLocalError, ValueError) as error:
        given = [arg if arg is None else tuple(arg.shape) for arg in args if arg is None or isinstance(arg, Tensor)]
        where = f" on inputs of shape {', '.join(map(str, given))}" if given else ""
        if all(isinstance(arg, list | str) for arg in args) and len(repr(args)) < 60:
            where = f" on {', '.join(map(repr, args))}"
        reason = str(error).partition("\n")[0]  # torch goes on with all the ways to call its function
        raise Mistake(f"your code stopped{where}: {reason}") from error


def checker(check: Callable[..., None]) -> Callable[..., None]:
    """A check that calls an exercise not yet begun what it is, without a traceback."""

    @wraps(check)
    def run(fn, *args, **options) -> None:
        try:
            check(fn, *args, **options)
        except NotImplementedError:
            raise Mistake("write your code in place of `raise NotImplementedError`.") from None

    return run
