"""Which column of a file holds what: names that the user gives, numbers, or the names that published data sets use."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bertlab.errors import InputError

# What the published data sets call their columns; the first name that a file has counts.
TEXTS: dict[str, str | None] = {  # each with its pair
    "text": "pair",
    "sentence1": "sentence2",
    "premise": "hypothesis",
    "question1": "question2",
    "question": "sentence",
    "#1 String": "#2 String",
    "sentence": None,
    "review": None,
}
# The texts of multiple choice have no pair.
BEGINNINGS: dict[str, str | None] = dict.fromkeys(("text", "startphrase", "ctx", "sent1", "premise", "question"))
LABELS = ("label", "gold_label", "labels", "score", "Quality", "is_duplicate", "sentiment")
IDS = ("id", "idx", "index", "pairID")
CHOICE_LISTS = ("choices", "endings")
LONGEST_NUMBER = 9  # digits of a column
CHOICE = re.compile(r"(?:choice|ending)_?(\d+)")


@dataclass(frozen=True)
class Columns:
    """Names of columns, or their numbers from 0; None: found by the usual names. `choices` is one that holds lists, or
    one for each choice."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    choices: tuple[str, ...] = ()

    @property
    def by_number(self) -> bool:
        """Whether no column is given by its name, and one or more by their numbers."""
        given = self._given()
        return bool(given) and all(name.isdecimal() for name in given)

    def _given(self) -> list[str]:
        return [name for name in (self.text, self.pair, self.label, *self.choices) if name is not None]

    def name(self, cells: Sequence[str]) -> bool:
        """Return whether these cells name columns: those asked for, or usual ones where none is asked for by name."""
        if self.by_number and cells != [str(number) for number in range(len(cells))]:
            return _cell(cells, self.text) in {*TEXTS, *BEGINNINGS} or _cell(cells, self.label) in LABELS
        return not {*self._given(), *TEXTS, *BEGINNINGS, *LABELS}.isdisjoint(cells)


def _cell(cells: Sequence[str], number: str | None) -> str | None:
    """Return the cell in a column given by its number; None where there is no such column."""
    if number is None or not number.isdecimal() or len(number) > LONGEST_NUMBER or int(number) >= len(cells):
        return None
    return cells[int(number)]


def found_columns(
    wanted: Columns, texts: Mapping[str, str | None], names: Iterable[str], source: str, labelled: bool
) -> Columns:
    """Return the columns by the names that they have in the first row, `names`. InputError: there is no such column."""
    names = list(names)
    wanted = _named(wanted, names)
    text = wanted.text or next((name for name in texts if name in names), "text")
    partner = None if wanted.text else texts.get(text)
    pair = wanted.pair or (partner if partner in names else None)
    label = (wanted.label or next((name for name in LABELS if name in names), "label")) if labelled else None
    options = [("--text-column", text), ("--pair-column", pair), ("--label-column", label)]
    for option, name in options + [("--choice-columns", name) for name in wanted.choices]:
        if name and name not in names:
            hint = f"see {option} (a name, or a number from 0)"
            raise InputError(f"{source}: there is no column {name!r}, only {', '.join(names)}; {hint}")
    used = Counter(name for name in (text, pair, label, *wanted.choices) if name)
    if twice := next((name for name, count in used.items() if count > 1), None):  # a text with its label in it is none
        raise InputError(f"{source}: column {twice!r} cannot be two of text, pair, label and choices; name another")
    return Columns(text, pair, label, wanted.choices)


def _named(wanted: Columns, names: list[str]) -> Columns:
    """Return the same columns, those given by number by their names."""

    def named(column: str | None) -> str | None:
        return column if column is None or column in names else _cell(names, column) or column

    choices = tuple(str(named(choice)) for choice in wanted.choices)
    return Columns(named(wanted.text), named(wanted.pair), named(wanted.label), choices)


def usual_choices(names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of the choices by their usual names: one for each choice, or one that holds lists."""
    names = list(names)
    numbered = {name: int(match[1]) for name in names if (match := CHOICE.fullmatch(name))}
    if numbered:
        return tuple(sorted(numbered, key=lambda name: numbered[name]))
    return (next((name for name in CHOICE_LISTS if name in names), "choices"),)
