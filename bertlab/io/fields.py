"""Values that were read back from a file, checked against the types of the record that they belong to."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bertlab.errors import InputError
from bertlab.io.gate import brief

MOST = 1e300  # of a number: a whole one beyond it is none that a program can compute with
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list", tuple: "a list"}


def check_fields(values: Mapping[str, Any], kinds: Mapping[str, Any], where: str, group: str = "") -> None:
    """Raise an InputError that names `where` and the first of the values that is not of its kind.

    `kinds` are type hints by name, such as those of a dataclass. A name without a value, or without a kind, is ignored.
    """
    for name, kind in kinds.items():
        if name not in values:
            continue
        value = values[name]
        if is_dataclass(kind) and isinstance(value, Mapping):
            check_fields(value, get_type_hints(kind), where, f"{group}{name}.")
        elif not fits(value, kind):
            raise InputError(f"{where}: {group}{name} is {brief(value)}, which must be {described(kind)}")


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value, as JSON or a saved state holds it, is of a kind: lists stand for tuples, and a whole
    number for a number, but True for neither."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return any(value == one for one in inner)
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    if origin in (list, tuple):
        return isinstance(value, list | tuple) and _fit_each(value, inner)
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool) and not abs(value) >= MOST
    return isinstance(value, kind)


def _fit_each(values: list | tuple, kinds: tuple) -> bool:
    if len(kinds) == 1 or kinds[-1] is ...:  # any number of them
        return all(fits(value, kinds[0]) for value in values)
    return len(values) == len(kinds) and all(map(fits, values, kinds))


def described(kind: Any) -> str:
    """Return in words what a value must be."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(map(described, inner))
    if origin is Literal:
        return "one of " + ", ".join(f'"{value}"' for value in inner)
    if kind is type(None):
        return "null"
    return WORDS.get(origin or kind, "an object with named values")
