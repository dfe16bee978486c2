"""Options that several commands share, and recipes changed by options: --steps 100, --set masking.rate=0.4.

tyro could make an option of every recipe field, but then --help would list some fifty of them for each command.
"""

import shlex
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import fields, is_dataclass, replace
from difflib import SequenceMatcher
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import tyro

from bertlab.errors import InputError

if TYPE_CHECKING:
    from bertlab.training.finetune_recipe import FinetuneRecipe
    from bertlab.training.recipes import PretrainRecipe

T = TypeVar("T")
Recipe = TypeVar("Recipe", "PretrainRecipe", "FinetuneRecipe")
Positional = Annotated[T, tyro.conf.Positional]
Flat = Annotated[  # options of a nested record without its name before them; its functions are none
    T, tyro.conf.OmitArgPrefixes, tyro.conf.SuppressFixed
]
Settings = Annotated[tuple[tuple[str, ...], ...], tyro.conf.UseAppendAction]  # --set may be given several times
RECIPE_OPTIONS = ("steps", "batch_size", "learning_rate", "seed")
FILES = {"text": "FILES", "data": "FOLDER", "store": "FOLDER", "vocab": "VOCABULARY", "train": "FILE", "dev": "FILE"}


def all_settings(command: Any) -> list[str]:
    """Return every FIELD=VALUE of all --set of a command."""
    return [setting for group in command.set for setting in group]


def recipe_from(recipe: Recipe, command: Any, names: Sequence[str]) -> Recipe:
    """Return the recipe with the fields `names` and those of --set replaced, where the command gives them."""
    given = {name: value for name in names if (value := getattr(command, name)) is not None}
    changed = {setting.partition("=")[0] for setting in all_settings(command)}
    for name in given:
        if {name, f"optim.{name}"} & changed:
            raise InputError(f"--set {name}: is --{name.replace('_', '-')}, too; give one of them")
    rate = given.pop("learning_rate", None)
    if rate is not None and rate <= 0:
        raise InputError(f"--learning-rate {rate}: must be above 0")
    optim = recipe.optim if rate is None else replace(recipe.optim, learning_rate=rate)
    return with_settings(replace(recipe, optim=optim, **given), all_settings(command))


def check_above_zero(settings: object, names: Sequence[str]) -> None:
    """Raise an InputError that names the first of these options that is not above 0."""
    for name in names:
        if (value := getattr(settings, name)) is not None and value <= 0:
            raise InputError(f"--{name.replace('_', '-')} {value}: must be above 0")


def command_line(start: str, command: Any, names: Sequence[str]) -> str:
    """Return the command for the model card: the options given of `names`; the user's files by what they are."""
    options = options_of(command)
    given = {name: what for name, what in FILES.items() if name in options and options[name][0]}
    given |= {name: str(options[name][0]) for name in names if options[name][0] != options[name][1]}
    given |= {"set": shlex.join(all_settings(command))} if "set" in given else {}
    words = [f"--{name.replace('_', '-')}" + ("" if value == "True" else f" {value}") for name, value in given.items()]
    return " ".join([f"bertlab {start}", *words])


def options_of(command: Any) -> dict[str, tuple[Any, Any]]:
    """Return (value, default) of every option, those of nested records too."""
    found: dict[str, tuple[Any, Any]] = {}
    for field in fields(command):
        value = getattr(command, field.name)
        found |= options_of(value) if is_dataclass(value) else {field.name: (value, field.default)}
    return found


KINDS = {int: "a whole number", float: "a number", bool: "True or False", str: "text"}


def with_settings(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """Return the recipe with fields replaced, nested ones by a dot: "steps=100", "masking.rate=0.4".

    All are replaced at once, so their order does not matter. InputError names an unknown field or an unfit value.
    """
    values: dict[str, dict[str, Any]] = {"": {}}
    for setting in settings:
        path, _, text = setting.partition("=")
        group, _, name = path.rpartition(".")
        kinds = _kinds(recipe, group)
        if "=" not in setting or name not in kinds:
            known = [f"{group}.{name}" for name in kinds] if group and kinds else _all(recipe)
            known.sort(key=lambda field: SequenceMatcher(None, path, field).ratio(), reverse=True)
            raise InputError(f"--set {setting}: write FIELD=VALUE, a field being one of {', '.join(known)}")
        if name in values.setdefault(group, {}):
            raise InputError(f"--set {setting}: {path} is set twice; give it once")
        values[group][name] = _parse(kinds[name], text, setting)
    own = values.pop("")
    nested = {group: replace(getattr(recipe, group), **changes) for group, changes in values.items()}
    return replace(recipe, **own, **nested)


def _kinds(recipe: object, group: str) -> dict[str, Any]:
    """Return field -> type of the recipe itself, or of its nested `group`; without the nested groups."""
    record = getattr(recipe, group, None) if group else recipe
    if not is_dataclass(record):
        return {}
    return {name: kind for name, kind in get_type_hints(type(record)).items() if not is_dataclass(kind)}


def _all(recipe: object) -> list[str]:
    """Return the names of all fields, nested ones with a dot."""
    groups = [name for name, value in vars(recipe).items() if is_dataclass(value)]
    return [*_kinds(recipe, ""), *(f"{group}.{name}" for group in groups for name in _kinds(recipe, group))]


def _parse(kind: Any, text: str, setting: str) -> Any:
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
