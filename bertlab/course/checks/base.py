"""What all checks share: comparing tensors, calling what the reader wrote, and their modules."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn

from bertlab.course.matching import load_matching
from bertlab.course.mistake import Mistake


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


def tensors(result, count: int, names: str) -> tuple[Tensor, ...]:
    right = isinstance(result, tuple) and len(result) == count and all(isinstance(part, Tensor) for part in result)
    expect(right, f"return {names}, in this order, each a tensor.")
    return result


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


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


def same_weights(library: type[nn.Module], cls: type[nn.Module], *options, spread: float | None = None):
    """The library's module and the reader's, both made from `options`, in eval mode; a Mistake where names differ.

    With `spread`, a standard deviation, every parameter is drawn anew, those of LayerNorm too, which start as 0 and 1.
    """
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        theirs, mine = library(*options).eval(), cls(*options).eval()
        if spread is not None:
            for parameter in theirs.parameters():
                nn.init.normal_(parameter, std=spread)
    report = load_matching(mine, theirs)
    expect(report.complete, f"your parameters are not those of the library.\n{report}")
    return theirs, mine


def check_dropout(module: nn.Module, places: str, *inputs: Tensor | None) -> None:
    """Check that a module drops out in training, and only there."""

    def output() -> Tensor:
        result = run(module, *inputs)
        return result[0] if isinstance(result, tuple) else result

    expect(close(output(), output()), "after .eval() two calls give two results: nn.Dropout knows when, F.dropout not.")
    module.train()
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        expect(not close(output(), output()), f"in training nothing is dropped: nn.Dropout belongs {places}.")


def small_batch() -> tuple[Tensor, Tensor, Tensor]:
    """input_ids, attention_mask and token_type_ids (2, 7): two pairs, the second with padding."""
    ids = torch.arange(14).view(2, 7) + 5
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    types = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0]])
    return ids, mask, types
