"""What checkers of tensors share: compare, name the outcome of a known slip, call the reader's code."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from bertlab.course.checks.base import Mistake, expect


def close(result: Tensor, right: Tensor) -> bool:
    return result.shape == right.shape and torch.allclose(result.float(), right.float(), atol=1e-5)


def none_of(result: Tensor, known: Sequence[tuple[Tensor, str]]) -> None:
    """Name the mistake whose outcome this is."""
    for wrong, message in known:
        expect(not close(result, wrong), message)


def run(fn: Callable, *args):
    """Call the reader's function; what torch says about shapes becomes a Mistake."""
    try:
        return fn(*args)
    except NotImplementedError:
        raise
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
        given = [arg if arg is None else tuple(arg.shape) for arg in args if arg is None or isinstance(arg, Tensor)]
        where = f" on inputs of shape {', '.join(map(str, given))}" if given else ""
        reason = str(error).partition("\n")[0]  # torch goes on with all the ways to call its function
        raise Mistake(f"your code stopped{where}: {reason}") from error


def tensors(result, count: int, names: str) -> tuple[Tensor, ...]:
    right = isinstance(result, tuple) and len(result) == count and all(isinstance(part, Tensor) for part in result)
    expect(right, f"return {names}, in this order, each a tensor.")
    return result


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
