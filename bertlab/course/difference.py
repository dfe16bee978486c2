"""Where two outcomes differ first, and how to say so."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Path = tuple[Any, ...]
# Tables are looked up with no other whole numbers.
KINDS = {
    torch.bool: "bools",
    torch.int32: "whole numbers",
    torch.int64: "whole numbers",
    torch.float64: "float64 (use .float())",  # later cells mix results with float32
}
STOPS = ("stops", "line")  # of a program that could not be observed to its end: why, and its last line
MOST_SHOWN, LONG = 10, 200  # numbers of a tensor, and characters, in a sentence


@dataclass(frozen=True)
class Difference:
    """The first place where an outcome is not what it should be: in which case, which item, and where in it."""

    case: int
    item: str
    path: Path
    found: Any
    right: Any


def first_difference(mine: Iterable[dict[str, Any]], right: Sequence[dict[str, Any]]) -> Difference | None:
    for case, (here, there) in enumerate(zip(mine, right, strict=True)):
        stops = "stops" in here or "stops" in there
        items = [*(item for item in there if item in here and item not in STOPS), "stops"] if stops else [*there]
        for item in items:
            apart = difference(here.get(item), there.get(item))
            if apart and not (item.startswith("gradient of ") and _both_zero(here.get(item), there.get(item))):
                return Difference(case, item, *apart)
    return None


def _both_zero(found: Any, right: Any) -> bool:
    """Whether no gradient came where it is 0 anyway."""
    return found is None and isinstance(right, Tensor) and not right.any()


def difference(found: Any, right: Any) -> tuple[Path, Any, Any] | None:
    """Return where `found` differs first from `right`, and what stands there; None where they are the same."""
    if isinstance(right, Tensor):
        return _of_tensors(found, right)
    if isinstance(found, Tensor | np.ndarray) and found.ndim and isinstance(right, tuple):
        if len(found) != len(right):
            return (), found, right
        found = tuple(found)
    if isinstance(found, Tensor | np.ndarray | np.generic):
        found = found.tolist()
    if isinstance(right, list | tuple):
        return _of_lists(found, right)
    if isinstance(right, dict):
        if not isinstance(found, dict) or not right.keys() <= found.keys():
            return (), found, right
        return _of_parts([(name, found[name], right[name]) for name in right])
    return None if _equal(found, right) else ((), found, right)


def _of_tensors(found: Any, right: Tensor) -> tuple[Path, Any, Any] | None:
    if isinstance(found, int | float) and right.ndim == 0:
        found = torch.tensor(found)
    if not isinstance(found, Tensor):
        return (), found, right
    found, right = found.detach(), right.detach()
    if right.dtype == torch.float64 and found.is_floating_point():
        found = found.double()
    if found.shape != right.shape or kind(found) != kind(right):
        return (), found, right
    if found.dtype == torch.bool or not found.numel():
        wrong = found != right
    else:
        wrong = ~_alike(found, right)
    if not wrong.any():
        return None
    place = tuple(wrong.nonzero()[0].tolist())
    return place, found[place].item(), right[place].item()


def _alike(found: Tensor, right: Tensor) -> Tensor:
    return torch.isclose(found.double(), right.double(), rtol=1e-4, atol=1e-5, equal_nan=True)


RATIOS = (-1.0, 1 / math.log(2), math.log(2), 100.0, *(n**sign for n in range(2, 17) for sign in (1, -1)))


def pattern(found: Any, right: Any, path: Path) -> str:
    """Say what the wrong tensor at the beginning of a path has in common with the right one, or nothing."""
    for step in path:
        if isinstance(right, list | tuple | dict):
            found, right = found[step], right[step]
    found, right = (each.item() if isinstance(each, Tensor) and not each.ndim else each for each in (found, right))
    if isinstance(right, float):
        return _ratio(found, right) if isinstance(found, int | float) and right and not path else ""
    both = isinstance(found, Tensor) and isinstance(right, Tensor)
    if not both or (found.shape, kind(found)) != (right.shape, kind(right)):
        return ""
    if not right.is_floating_point() and right.ndim == 2 and right.size(1) <= MOST_SHOWN:
        return f" In full, row {path[-2]} should be {_shown(right[path[-2]])}; yours is {_shown(found[path[-2]])}."
    found, right = found.detach().double(), right.detach().double()
    factor = float((found * right).sum() / (right * right).sum())
    if right.numel() > 1 and factor and math.isfinite(factor) and _alike(found, factor * right).all():
        return f" Everywhere yours is {factor:.4g} times that."
    if _alike(found.flatten().sort().values, right.flatten().sort().values).all():
        return " The numbers are right, but not in their places."
    rows = [row for row in range(len(right)) if not _alike(found[row], right[row]).all()]
    return f" Only rows {rows} of {len(right)} differ." if right.ndim > 1 and len(rows) < len(right) else ""


def _ratio(found: float, right: float) -> str:
    near = (ratio for ratio in RATIOS if math.isclose(found, ratio * right, rel_tol=1e-4))
    return next((f" Yours is {ratio:.4g} times that." for ratio in near), "")


def says_little(found: Any) -> bool:
    """Whether other programs give this as easily: nothing, a truth value, 0 or 1."""
    found = found.tolist() if isinstance(found, Tensor | np.ndarray | np.generic) else found
    return found is None or isinstance(found, int | float | str | list | tuple | dict) and found in (0, 1, "", [], ())


def kind(tensor: Tensor) -> str:
    return KINDS.get(tensor.dtype, "floats" if tensor.is_floating_point() else str(tensor.dtype))


def _of_lists(found: Any, right: Sequence) -> tuple[Path, Any, Any] | None:
    if not isinstance(found, list | tuple) or len(found) != len(right):
        return (), found, right
    return _of_parts([(place, *both) for place, both in enumerate(zip(found, right, strict=True))])


def _of_parts(parts: Sequence[tuple[Any, Any, Any]]) -> tuple[Path, Any, Any] | None:
    for place, mine, right in parts:
        apart = difference(mine, right)
        if apart:
            return (place, *apart[0]), *apart[1:]
    return None


def _equal(found: Any, right: Any) -> bool:
    if isinstance(right, float) and isinstance(found, int | float) and not isinstance(found, bool):
        return math.isclose(found, right, rel_tol=1e-4, abs_tol=1e-5) or (math.isnan(found) and math.isnan(right))
    return type(found) is type(right) and bool(found == right)


# In words


def describe(apart: Difference, case: Mapping[str, Any], takes: Sequence[str], gives: Sequence[str]) -> str:
    """Say on which input a program differs first, what is expected there and what it gave.

    `case` is that input by names; `takes` and `gives` are the names of the program's arguments and of its results, if
    they are several.
    """
    item, where = _named(apart.item, takes), _on(case)
    if item == "stops":
        stopped = str(apart.found or "on this input your code should stop")
        return f"{stopped} ({where.strip()})" if where and stopped.startswith("your code") else stopped
    if item == "parameters":
        return _of_parameters(apart)
    if item.startswith("changed"):
        changed = _named(", ".join(apart.found or ["nothing"]), takes)
        return f"your function changed what it was given ({changed}): work on a copy."
    if item.startswith("gradient of ") and apart.found is None:
        return (
            f"the result is right, but no gradient reaches {item[12:]}: detach, no_grad, item, or a new tensor made "
            "from numbers cuts the way back, and nothing would be learned."
        )
    if item.startswith("gradient of "):
        return (
            f"the result is right, but the {item} is not{where}: is a part of the way back cut (detach, no_grad), "
            "counted twice, or computed with other numbers?"
        )
    if isinstance(apart.right, bool) and not apart.path and item != "result":
        return f"this does not hold{where}: {item}."
    return _of_values(apart, item, gives, where)


def _named(text: str, takes: Sequence[str]) -> str:
    for number, name in enumerate(takes, start=1):
        text = text.replace(f"argument {number}", name)
    return text


def _of_parameters(apart: Difference) -> str:
    mine, right = (each.splitlines() for each in (apart.found, apart.right))
    missing, extra = ([line for line in one if line not in other] for one, other in ((right, mine), (mine, right)))
    lines = [f"missing in yours: {line}" for line in missing[:4]] + [f"only in yours: {line}" for line in extra[:4]]
    return "\n  ".join(["your parameters are not those of the library.", *lines])


def _of_values(apart: Difference, item: str, gives: Sequence[str], where: str) -> str:
    path, found, right = apart.path, apart.found, apart.right
    if gives and not path:
        return f"return {' and '.join(gives)}, in this order{where}; yours is {_shown(found)}."
    named = gives and item.startswith("result")
    name, place = (gives[path[0]] + item.removeprefix("result"), path[1:]) if named else (item, path)
    name = name.replace("result of ", "").replace("result", "the result")
    at = f" at {'[' + ', '.join(map(repr, place)) + ']'}" if place else ""
    if isinstance(right, Tensor) and isinstance(found, Tensor):
        name += at
        if found.shape != right.shape:
            return f"{name} should have the shape {tuple(right.shape)}{where}; yours has {tuple(found.shape)}."
        return f"{name} should be {kind(right)}, not {kind(found)}{where}."
    if isinstance(right, dict) and isinstance(found, dict):
        missing = ", ".join(repr(key) for key in right if key not in found)
        return f"{name}{at} lacks {missing}{where}; yours has {', '.join(map(repr, found)) or 'nothing'}."
    if isinstance(right, Tensor):
        return f"{name}{at} should be a tensor {tuple(right.shape)}{where}; yours is {_type(found)}: {_shown(found)}."
    if isinstance(right, list | tuple) and isinstance(found, list | tuple) and len(repr(right)) >= LONG:
        same = next((n for n, both in enumerate(zip(found, right, strict=False)) if difference(*both)), len(found))
        at = f"{at}, from its entry {same} on,"
        shown, wanted = _shown(found[same:]), _shown(right[same:])
        if shown == wanted:  # as far as they are shown
            return f"{name} should have {len(right)} entries{where}; yours has {len(found)}."
        return f"{name}{at} should be {wanted}{where}; yours is {shown}, {len(found)} entries in place of {len(right)}."
    shown, wanted = _shown(found), _shown(right)
    if shown == wanted and isinstance(found, float):
        shown, wanted = f"{found:.6g}", f"{right:.6g}"
    return f"{name}{at} should be {wanted}{where}; yours is {shown}."


def _type(thing: Any) -> str:
    return f"a {type(thing).__name__}"


def _shown(thing: Any) -> str:
    if isinstance(thing, float):
        return f"{thing:.4f}"
    text = _within(thing)
    if text.startswith("<"):  # of an object, with its address
        return _type(thing)
    return text if len(text) < LONG else f"{text[:LONG]} ..."


def _within(thing: Any) -> str:
    """As repr says it, but floats rounded, and of large tensors the shape alone."""
    if isinstance(thing, Tensor | np.ndarray) and (thing.ndim > 1 or len(thing.reshape(-1)) > MOST_SHOWN):
        return f"{'a tensor' if isinstance(thing, Tensor) else 'an array'} {tuple(thing.shape)}"
    if isinstance(thing, Tensor | np.ndarray):
        return _within(thing.tolist())
    if isinstance(thing, dict):
        return "{" + ", ".join(f"{name!r}: {_within(each)}" for name, each in thing.items()) + "}"
    if type(thing) in (list, tuple):
        text = ", ".join(map(_within, thing))
        return f"[{text}]" if isinstance(thing, list) else f"({text}{',' * (len(thing) == 1)})"
    return repr(round(thing, 4) or thing) if isinstance(thing, float) else repr(thing)


def _on(case: Mapping[str, Any]) -> str:
    """The arguments of a case by their names in a few words, or nothing if they are many."""
    shown = ", ".join(f"{name}={_shown(arg)}" for name, arg in case.items())
    return f" for {shown}" if case and len(shown) <= LONG else ""
