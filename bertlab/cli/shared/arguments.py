"""The arguments of a command: what is wrong with them in one line, and no output over what is read."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr
from io import StringIO
from itertools import chain, groupby, pairwise, takewhile
from pathlib import Path
from typing import Any

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from bertlab.cli.shared.settings import options_of
from bertlab.errors import InputError
from bertlab.io.atomic import keep_apart

COLOUR, RULE = re.compile(r"\x1b\[[0-9;]*m"), re.compile(" ?(?:─+|-+)")
OPTION, HELP = re.compile(r" {5}(--[\w-]+)"), re.compile(r" +in (\S.*) --help")
HELP_TEXT = " " * 9  # before what an option is for
MAY_BE_EMPTY = ("--pair", "--choices", "--question", "--passage", "--json")  # texts, and what stands before one
COMMANDS = "Available subcommands:"
PLAINER = {  # what tyro says -> in words for its users
    r"no type matching (\S+) could be instantiated from": r"must be \1, not",
    r"\. Expected 1 values": "",
    r"invalid literal for int\(\) with base 10:": "must be a whole number, not",
    r"could not convert string to float:": "must be a number, not",
    r" or misplaced options:": " options:",
    r" \(applied to [^)]*\)": "",
}
OPTIONAL = ConstructorRegistry()


@OPTIONAL.primitive_rule
def optional(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    """Read an option that may be left out as one of its kind, not as {None}|KIND: the word None is no value of it."""
    kind = next((kind for kind in (str, int, float, Path) if info.type == kind | None), None)
    if kind is None:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.__name__.upper(),
        instance_from_str=lambda given: kind(given[0]),
        is_instance=lambda value: value is None or isinstance(value, kind),
        str_from_instance=lambda value: [str(value)],
    )


def read_arguments(commands: Any, given: Sequence[str], prog: str, description: str | None = None) -> Any:
    """Return the command that the arguments name. InputError says in one line what is wrong with them."""
    if empty := next((option for option, value in pairwise([*given, "-"]) if is_empty(option, value)), None):
        raise InputError(f"{empty.rstrip('=')}: its value is empty; give one, or leave the option out")
    said = StringIO()
    try:
        with redirect_stderr(said):
            command = tyro.cli(commands, prog=prog, description=description, args=given, registry=OPTIONAL)
    except SystemExit as left:
        if left.code != 2:  # --help
            raise
        names = [name for name in given[:1] if not name.startswith("-") and not isinstance(commands, type)]
        raise InputError(_one_line(said.getvalue(), " ".join([prog, *names]))) from None
    keep_apart_of(command)
    return command


def is_empty(option: str, value: str) -> bool:
    """Return whether an option has the value "", as of a shell variable that is not set; a text may be empty, which
    its reader says. Taken as it is, "" would be this folder, or the default."""
    name = option.rstrip("=")
    return name.startswith("--") and name not in MAY_BE_EMPTY and (option != name or value == "")


def keep_apart_of(command: Any) -> None:
    """Raise an InputError where the --out of a command would replace a file or folder that another argument names."""
    given = {name: value for name, (value, _) in options_of(command).items()}
    if out := given.pop("out", None):
        keep_apart(out, _names(given.values()))


def _names(values: Iterable[Any]) -> Iterator[str | Path]:
    for value in values:
        if isinstance(value, str | Path):
            yield value
        elif isinstance(value, tuple):
            yield from _names(value)


def _one_line(box: str, prog: str) -> str:
    """Return what tyro says in a box: a title, what is wrong, and in parts between rules what there is instead.

    On a terminal with ASCII alone the box has no sides and there are blanks in their place.
    """
    _, *lines = COLOUR.sub("", box).splitlines()
    wrong, *rest = _parts(line[1:].rstrip("│ ") for line in lines if not line.startswith("╰"))
    said = " ".join(line.strip() for line in takewhile(bool, wrong) if not line.startswith(HELP_TEXT)).strip(" .")
    for pattern, plainer in PLAINER.items():
        said = re.sub(pattern, plainer, said)
    said = f"{said[:1].lower()}{said[1:]}"
    if commands := next((part for part in rest if COMMANDS in part[0]), None):
        return f"{said}; {COMMANDS.lower()} {' '.join(map(str.strip, commands)).removeprefix(COMMANDS).strip()}"
    similar = " or ".join(_similar(chain.from_iterable(rest), prog))
    hint = f"perhaps {similar}? " if similar else ""
    return f"{said}; {hint}see {prog} --help"


def _parts(lines: Iterable[str]) -> list[list[str]]:
    return [list(part) for is_rule, part in groupby(lines, lambda line: bool(RULE.fullmatch(line))) if not is_rule]


def _similar(lines: Iterable[str], prog: str) -> list[str]:
    """Return the options of this command that tyro lists, each followed by the commands that have it."""
    found: dict[str, None] = {}
    last = ""
    for line in lines:
        if option := OPTION.match(line):
            last = option[1]
        elif (command := HELP.match(line)) and command[1].startswith(prog):
            found[last] = None
    return list(found)
