"""What counts of a program on a case: results, gradients, inputs left as they were; or facts that must hold."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import Tensor, nn

from bertlab.course.mistake import Mistake


def call(fn: Callable, *args: Any) -> dict[str, Any]:
    """Observe the result of a function that learning passes through, and the gradient of each tensor of floats."""
    leaves = {number: arg.clone().requires_grad_() for number, arg in enumerate(args, start=1) if is_float(arg)}
    passed = [leaves[number] * 1 if number in leaves else arg for number, arg in enumerate(args, start=1)]
    found = value(fn, *passed)
    backward(found["result"])
    return found | {f"gradient of argument {number}": leaf.grad for number, leaf in leaves.items()}


def value(fn: Callable, *args: Any) -> dict[str, Any]:
    """Observe the result of a function that nothing is learned through, and which arguments it has changed in place."""
    plain = [isinstance(arg, Tensor | np.ndarray | list | dict | set) for arg in args]
    before = [_copy(arg) if kind else None for arg, kind in zip(args, plain, strict=True)]
    result = fn(*args)
    after = enumerate(zip(args, before, plain, strict=True), start=1)
    return {
        "result": result,
        "changed": [f"argument {n}" for n, (arg, old, kind) in after if kind and not _same(arg, old)],
    }


def listed(fn: Callable, *args: Any) -> dict[str, Any]:
    """Observe as `value` does a function whose result must be a list."""
    found = value(fn, *args)
    expect(isinstance(found["result"], list), "return a list: later cells join and compare it.")
    return found


def _copy(arg: Any) -> Any:
    if isinstance(arg, Tensor):
        return arg.detach().clone()
    if isinstance(arg, dict):
        return {name: _copy(each) for name, each in arg.items()}
    return [_copy(each) for each in arg] if isinstance(arg, list) else deepcopy(arg)


def _same(arg: Any, old: Any) -> bool:
    if isinstance(arg, Tensor):
        return torch.equal(arg.detach(), old)
    if isinstance(arg, np.ndarray):
        return np.array_equal(arg, old)
    if isinstance(arg, dict):
        return arg.keys() == old.keys() and all(_same(each, old[name]) for name, each in arg.items())
    if isinstance(arg, list):
        return len(arg) == len(old) and all(_same(each, other) for each, other in zip(arg, old, strict=True))
    return bool(arg == old)


def attention(cls: type[nn.Module], options: Sequence, runs: Mapping[str, Sequence]) -> dict[str, Any]:
    """Observe attention as `module` does, and whether its numbers stay finite where a text is padding alone. What they
    are there is free: nobody reads them."""
    found, model = module(cls, options, runs), cls(*options)
    *inputs, padding = runs["forward"]
    hidden = torch.ones_like(padding) if padding is not None else None
    return found | {FINITE: all(bool(each.isfinite().all()) for each in tensors_of(model(*inputs, hidden)))}


FINITE = "the results are finite where a text is padding alone"


def is_float(arg: Any) -> bool:
    return isinstance(arg, Tensor) and arg.is_floating_point()


def backward(result: Any) -> None:
    """Go back from a result, weighted in fixed random proportions, wherever gradients lead."""
    total = sum((tensor * weights(tensor)).sum() for tensor in tensors_of(result) if tensor.requires_grad)
    if isinstance(total, Tensor):
        total.backward()


def weights(tensor: Tensor) -> Tensor:
    return torch.randn(tensor.shape, generator=torch.Generator().manual_seed(1)).to(tensor.dtype)


def tensors_of(result: Any) -> list[Tensor]:
    """Return the tensors in lists, tuples and dictionaries."""
    if isinstance(result, Tensor):
        return [result]
    parts = result.values() if isinstance(result, dict) else result if isinstance(result, list | tuple) else ()
    return [tensor for part in parts for tensor in tensors_of(part)]


def module(cls: type[nn.Module], options: Sequence, runs: Mapping[str, Sequence]) -> dict[str, Any]:
    """Observe a module made from `options`, with weights that go by the parameters' names.

    `runs` are its methods and their arguments: results in eval mode and in training, and the gradients of the last.
    What takes rows of ids is then given a single shorter one: no size may be left over from before, none vanish.
    """
    model = filled(cls(*options))
    parameters = dict(model.named_parameters(remove_duplicate=False))
    saved = sorted(model.state_dict().items())
    shapes = [f"{name} {tuple(each.shape)}{'' if name in parameters else BUFFER}" for name, each in saved]
    found: dict[str, Any] = {"parameters": "\n".join(shapes)}
    found["number of parameters"] = sum(each.numel() for each in model.parameters())
    try:
        _run(model, runs, found)
    except Exception as error:  # what came before may tell more
        error.seen = found  # type: ignore[attr-defined]
        raise
    return found | {f"gradient of {name}": each.grad for name, each in sorted(parameters.items())}


BUFFER = ", a buffer: register it with persistent=False, then it is not saved"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")  # later cells call with these names, model(**rows)


def _run(model: nn.Module, runs: Mapping[str, Sequence], found: dict[str, Any]) -> None:
    """Add what the runs give to what was found."""
    for method, args in runs.items():
        for mode in ("", " in training"):
            model.train(bool(mode))
            model.zero_grad()
            name = ("result" if method == "forward" else f"result of {method}") + mode
            given = [dict(arg) if isinstance(arg, dict) else arg for arg in args]  # a batch may lose its labels
            seen = call(model if method == "forward" else getattr(model, method), *given)
            changed = [f"by {method}"] if seen["changed"] and method != "forward" else seen["changed"]
            found |= {name: seen.pop("result"), "changed": [*dict.fromkeys(found.get("changed", []) + changed)]}
            del seen["changed"]
            of = "" if method == "forward" else f" of {method}"
            found |= {f"{what}{of}{mode}": each for what, each in seen.items()}
        if method == "forward" and all(isinstance(arg, Tensor) and not is_float(arg) for arg in args):
            with torch.no_grad():
                row = [arg[:1, ..., :-2] for arg in args]
                named = dict(zip(INPUTS, row, strict=True)) if len(row) == len(INPUTS) else None
                found["result for one shorter row"] = model.eval()(**named) if named else model.eval()(*row)


@torch.no_grad()
def filled(model: nn.Module, spread: float = 0.3) -> nn.Module:
    """Draw every parameter from a generator that starts with its name; LayerNorm's too, which start as 0 and 1."""
    for name, parameter in sorted(model.named_parameters(remove_duplicate=False)):
        generator = torch.Generator().manual_seed(crc32(name.encode()))
        parameter.copy_(spread * torch.randn(parameter.shape, generator=generator))
    return model


def expect(condition: bool, message: str) -> None:
    """Raise a Mistake unless the condition holds: for what would keep a check from looking further."""
    if not condition:
        raise Mistake(message)


SHUFFLED = ("[SEP]", "[MASK]", "[PAD]", "[CLS]", "[UNK]")  # not the usual order: no program may count on an id


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def small_batch(rows: int = 3, width: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    """input_ids, attention_mask and token_type_ids (3, 7), or a corner of them: two pairs and a single text, of unlike
    lengths. One padded position has the id of a word: the mask alone says what is padding."""
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3, [1] * 5 + [0] * 2])
    types = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0], [0] * 7])
    ids = torch.tensor([[2, 8, 9, 3, 17, 4, 3], [2, 12, 3, 13, 0, 7, 0], [2, 8, 25, 11, 3, 0, 0]])
    ids, mask, types = (each[:rows, :width].contiguous() for each in (ids, mask, types))
    return ids, mask, types
