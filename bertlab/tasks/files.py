"""Labelled examples for a task, from files in the field's formats."""

from collections.abc import Iterator
from pathlib import Path

from bertlab.corpora.conll import read_conll
from bertlab.corpora.reading import Skipped
from bertlab.corpora.squad import read_squad
from bertlab.corpora.tabular import read_choices, read_table
from bertlab.errors import InputError
from bertlab.tasks.base import Task
from bertlab.tasks.choice import ChoiceTask
from bertlab.tasks.columns import Columns
from bertlab.tasks.span import SpanTask
from bertlab.tasks.token import TokenTask


def read_examples(
    family: type[Task],
    path: Path,
    columns: Columns,
    *,
    pairs: bool = False,
    problem: str = "single_label_classification",
    labelled: bool = True,
    skipped: Skipped | None = None,
) -> Iterator:
    """The examples of a file for a task family, one after the other; `pairs`: of two texts each.

    Without `labelled` the labels need not be there. With `skipped`, rows that cannot be used are left out and counted
    there, else the first is an InputError naming file and line.
    """
    how = {"encoding": columns.encoding, "skipped": skipped, "labelled": labelled}
    if family is SpanTask:
        return read_squad(path, **how)
    if family is TokenTask:
        return read_conll(path, **_numbered(columns), **how)
    if family is ChoiceTask:
        return read_choices(path, **columns.given("text_column", "choice_columns", "label_column"), **how)
    named = columns.given("text_column", "pair_column", "label_column")
    return read_table(path, **named, pairs=pairs, problem=problem, **how)


def _numbered(columns: Columns) -> dict[str, int]:
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
