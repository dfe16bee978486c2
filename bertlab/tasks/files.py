"""Labelled examples for a task, from files in the field's formats or from the hub."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from bertlab.corpora import tabular
from bertlab.corpora.conll import read_conll
from bertlab.corpora.examples import TextExample
from bertlab.corpora.hub_datasets import HUB, HubSet
from bertlab.corpora.reading import Skipped
from bertlab.corpora.squad import read_squad
from bertlab.corpora.tabular import read_choices, read_table
from bertlab.errors import InputError
from bertlab.tasks.base import Task
from bertlab.tasks.choice import ChoiceTask
from bertlab.tasks.sequence import SequenceTask
from bertlab.tasks.span import SpanTask
from bertlab.tasks.token import TokenTask


@dataclass(frozen=True)
class FileOptions:
    """Where in a file what stands, and how it is read."""

    text_column: str | None = None
    """Column of the text: its name, in CoNLL files its number from 0; usual names are found by themselves."""
    pair_column: str | None = None
    """Column of the second text of a pair."""
    label_column: str | None = None
    """Column of the label; in CoNLL files a number, the last one if not given."""
    choice_columns: tuple[str, ...] = ()
    """Columns of the choices."""
    encoding: str = "utf-8"
    """Encoding of the files."""
    on_error: Literal["stop", "skip"] = "stop"
    """Whether a row that cannot be used ends the reading, or is left out and counted."""

    def given(self, *names: str) -> dict:
        """Those of these columns that were named, as arguments of a reader."""
        return {name: value for name in names if (value := getattr(self, name))}

    def skipped(self) -> Skipped | None:
        """What counts the rows that are left out; None where the first one that cannot be used ends the reading."""
        return Skipped() if self.on_error == "skip" else None


FAMILIES = {SequenceTask: "sequence", TokenTask: "token", SpanTask: "span", ChoiceTask: "choice"}


def read_examples(
    family: type[Task],
    path: Path,
    columns: FileOptions,
    *,
    pairs: bool | None = None,
    problem: str = "single_label_classification",
    labelled: bool = True,
    skipped: Skipped | None = None,
) -> Iterator:
    """The examples of a file for a task family, one after the other.

    `pairs`: texts must be (True) or are not (False) pairs; None: as the file has it. A second text that `columns` names
    is always read.

    Without `labelled` the labels need not be there. With `skipped`, rows that cannot be used are left out and counted
    there, else the first is an InputError naming file and line; and so is a file without any example.
    """
    return some(_examples(family, path, columns, pairs, problem, labelled, skipped), path, skipped)


def some(examples: Iterator, source: str | Path, skipped: Skipped | None) -> Iterator:
    """The same examples; InputError where there is none."""
    if (first := next(examples, None)) is None:
        why = f" that can be used: {skipped}" if skipped and skipped.count else ""
        raise InputError(f"{source}: holds no example{why}")
    yield first
    yield from examples


def _examples(family, path, columns, pairs, problem, labelled, skipped) -> Iterator:
    how = {"encoding": columns.encoding, "skipped": skipped, "labelled": labelled}
    if family is SpanTask:
        return read_squad(path, **how)
    if family is TokenTask:
        return read_conll(path, **_numbered(columns), **how)
    if family is ChoiceTask:
        return read_choices(path, **columns.given("text_column", "choice_columns", "label_column"), **how)
    named = columns.given("text_column", "pair_column", "label_column")
    examples = read_table(path, **named, problem=problem, **how)
    if pairs is False and not columns.pair_column:
        return (replace(example, pair=None) for example in examples)
    return paired(examples, path) if pairs else examples


@contextmanager
def naming(source: str | Path) -> Iterator[None]:
    """InputErrors about examples name the file, or data set, that they come from."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}") from error


def paired(examples: Iterator[TextExample], source: str | Path) -> Iterator[TextExample]:
    """The same examples; InputError where the file, or data set, holds no second texts."""
    for example in examples:
        if example.pair is None:
            raise InputError(f"{source}: no column holds the second texts; name it with --pair-column")
        yield example


def hub_set(family: type[Task], name: str, columns: FileOptions, problem: str) -> HubSet:
    """A data set by its short name (sst2, squad, ...), or any by its address with these columns.

    InputError for a short name of a set that is for another task.
    """
    if name not in HUB:
        named = tabular.Columns(columns.text_column, columns.pair_column, columns.label_column, columns.choice_columns)
        return HubSet(name, FAMILIES[family], named, problem)
    if HUB[name].family != FAMILIES[family]:
        fitting = ", ".join(other for other in HUB if HUB[other].family == FAMILIES[family])
        raise InputError(f"--dataset {name}: is for another task; for this one there are {fitting}")
    return HUB[name]


def _numbered(columns: FileOptions) -> dict[str, int]:
    """The columns of CoNLL files, which have no names."""
    numbers = {}
    for name, option in {"word_column": "text_column", "label_column": "label_column"}.items():
        if (text := getattr(columns, option)) is not None:
            try:
                numbers[name] = int(text)
            except ValueError:
                raise InputError(
                    f"--{option.replace('_', '-')} {text}: columns of CoNLL files are numbers, from 0"
                ) from None
    return numbers
