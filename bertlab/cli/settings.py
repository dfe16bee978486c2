"""FIELD=VALUE on the command line: any field of a recipe, each read as its type says."""

from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import is_dataclass, replace
from io import StringIO
from typing import Any, Literal, get_args, get_origin, get_type_hints

from bertlab.errors import InputError

KINDS = {int: "a whole number", float: "a number", bool: "True or False", str: "text"}


def with_settings(recipe, settings: Sequence[str]):
    """The recipe with fields replaced, those of its parts by a dot: "steps=100", "masking.rate=0.4".

    All at once, so that their order does not matter. InputError names a setting that there is not, or whose value
    does not fit.
    """
    values: dict[str, dict[str, Any]] = {"": {}}
    for setting in settings:
        path, _, text = setting.partition("=")
        group, _, name = path.rpartition(".")
        kinds = _kinds(recipe, group)
        if "=" not in setting or name not in kinds:
            known = ", ".join(f"{group}.{name}" for name in kinds) if group and kinds else ", ".join(_all(recipe))
            raise InputError(f"--set {setting}: write FIELD=VALUE, a field being one of {known}")
        values.setdefault(group, {})[name] = _parse(kinds[name], text, setting)
    own = values.pop("")
    parts = {group: replace(getattr(recipe, group), **part) for group, part in values.items()}
    return replace(recipe, **own, **parts)


def _kinds(recipe, group: str) -> dict[str, Any]:
    """Field -> type of the recipe itself, or of its part `group`; without fields that are parts in turn."""
    part = getattr(recipe, group, None) if group else recipe
    if not is_dataclass(part):
        return {}
    return {name: kind for name, kind in get_type_hints(type(part)).items() if not is_dataclass(kind)}


def _all(recipe) -> list[str]:
    """Every field, those of the parts with a dot."""
    parts = [name for name, part in vars(recipe).items() if is_dataclass(part)]
    return [*_kinds(recipe, ""), *(f"{part}.{name}" for part in parts for name in _kinds(recipe, part))]


def _parse(kind: Any, text: str, setting: str) -> Any:
    import tyro

    several = get_origin(kind) is tuple
    words = text.replace(",", " ").split() if several else [text.capitalize() if kind is bool else text]
    try:
        with redirect_stderr(StringIO()):  # it has more to say than the one line
            return tyro.cli(kind, args=words, console_outputs=False)
    except SystemExit:
        raise InputError(f"--set {setting}: the value must be {_described(kind)}") from None


def _described(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(value or '""' for value in get_args(kind))
    return KINDS.get(kind, "numbers with commas between")
