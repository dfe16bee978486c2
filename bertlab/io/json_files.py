"""JSON files that come from anywhere: bounded in depth, no name given twice, and each value of its kind."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bertlab.errors import InputError, brief
from bertlab.io.files import MOST_BYTES, read_text

MOST_DEPTH = 50  # of JSON; published files have no more than five
SURROGATE = re.compile("[\ud800-\udfff]")  # half of a pair; JSON can hold one alone
HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")  # what may become one in a JSON text
MOST = 1e300  # of a number: a whole one beyond it is none that a program can compute with
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list", tuple: "a list"}


def read_json(path: Path, most: int = MOST_BYTES) -> dict[str, Any]:
    """Return the JSON object in a file. InputError names the file.

    It is raised for a file that is missing, damaged, nested too deeply, gives a name twice or holds no object.
    """
    values = parse_json(read_text(path, most), path)
    if not isinstance(values, dict):
        raise InputError(f"{path}: not a JSON object (names and values in braces)")
    return values


def parse_json(text: str, where: str | Path) -> Any:
    """Return the value of a JSON text. InputError, which begins with `where`, as for read_json, and for half of a
    surrogate pair in a text."""
    too_deep = InputError(f"{where}: JSON nested more than {MOST_DEPTH} levels deep")
    try:
        values = json.loads(text, object_pairs_hook=_without_repeats)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except json.JSONDecodeError as error:
        place = f"character {error.pos}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{where}: cannot be read as JSON ({error.msg} at {place})") from error
    except ValueError as error:  # Python refuses to read a number of thousands of digits, which takes long
        raise InputError(f"{where}: cannot be read as JSON (a number of thousands of digits)") from error
    except RecursionError:
        raise too_deep from None
    if _deeper_than(MOST_DEPTH, values):
        raise too_deep
    if HALF.search(text) and SURROGATE.search(json.dumps(values, ensure_ascii=False)):
        raise InputError(f"{where}: {_broken_part(values)} holds half of a surrogate pair (broken Unicode)")
    return values


def _broken_part(values: Any) -> str:
    """Return the name of the first field with half of a surrogate pair in it, or what there is if it has no fields."""
    fields = values.items() if isinstance(values, dict) else ()
    broken = (name for name, value in fields if SURROGATE.search(json.dumps([name, value], ensure_ascii=False)))
    return next(map(brief, broken), "a text")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        repeated = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise InputError(f"{brief(repeated)} is given twice")
    return values


def _deeper_than(most: int, value: Any) -> bool:
    """Return whether lists and objects are nested on more than `most` levels."""
    level: list[dict | list] = [[value]]
    for _ in range(most + 1):
        children = (entry.values() if isinstance(entry, dict) else entry for entry in level)
        level = [child for entries in children for child in entries if isinstance(child, dict | list)]
        if not level:
            return False
    return True


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
        return isinstance(value, (int, kind)) and not isinstance(value, bool) and abs(value) < MOST  # nan is not
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
