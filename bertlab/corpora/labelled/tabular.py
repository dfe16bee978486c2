"""Texts with classes, numbers or choices, from rows with named columns."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import get_args

from bertlab.corpora.examples import ChoiceExample, Label, Problem, TextExample
from bertlab.corpora.labelled.columns import BEGINNINGS, IDS, LABELS, TEXTS, Columns, found_columns, usual_choices
from bertlab.corpora.labelled.records import Record, read_records
from bertlab.corpora.reading import Skipped, check_text, usable
from bertlab.errors import InputError
from bertlab.io.json_files import parse_json
from bertlab.io.locate import data_folder

WHOLE = re.compile(r"[+-]?\d+\.0")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
LONGER = 13  # words: a shorter review may not show what it is about


@dataclass(frozen=True)
class ReadOptions:
    """How examples are read from a file or a data set.

    `pairs`: True where each example needs a second text, False to read one only from a column that `columns` names,
    None to take it wherever a usual column holds it. Without `labelled` the labels need not be there. With `skipped`,
    rows that cannot be used, and those with labels that it does not want, are left out and counted there; without it
    the first one that cannot be used is an InputError.
    """

    columns: Columns = Columns()
    problem: Problem = "single_label_classification"
    pairs: bool | None = None
    labelled: bool = True
    encoding: str = "utf-8"
    skipped: Skipped | None = None


def read_table(
    path: str | Path,
    *,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    problem: Problem = "single_label_classification",
    labelled: bool = True,
    encoding: str = "utf-8",
    skipped: Skipped | None = None,
) -> Iterator[TextExample]:
    """Yield the texts or pairs of a .csv, .tsv or .jsonl file, or of a .txt file without labels, a text a line.

    Columns that are not named are found by the names that published data sets give them: text, sentence1 and
    sentence2, premise and hypothesis ..., label, gold_label ... Numbers name the columns of a CSV or TSV file without
    a header. Several labels are a JSON list, or are separated by |; there may be none. 1 and 1.0 are one class, nan is
    none. An example's id is that of its row, or its line number. InputError names the line; with `skipped` a bad row is
    left out and counted.
    """
    columns = Columns(text_column, pair_column, label_column)
    records = read_records(Path(path), encoding, skipped, columns, labelled=labelled)
    return text_examples(records, str(path), ReadOptions(columns, problem, None, labelled, encoding, skipped))


def film_reviews() -> list[TextExample]:
    """Return forty sentences on films, written for bertlab: half "positive", half "negative"."""
    return list(read_table(data_folder() / "film_reviews.csv"))


def reviews_by_subject(each: int = 20) -> list[TextExample]:
    """Return so many of the longer reviews in data/english of each subject, which is the label: film, book, food ..."""
    kept: dict[str, list[TextExample]] = {}
    for example in read_table(data_folder() / "english" / "opinions.csv", label_column="topic"):
        if len(example.text.split()) >= LONGER:
            kept.setdefault(str(example.label), []).append(example)
    return [example for found in kept.values() for example in found[:each]]


def text_examples(records: Iterator[Record], source: str, options: ReadOptions) -> Iterator[TextExample]:
    """Yield the texts or pairs of rows from anywhere; errors call it `source`."""
    if options.problem not in get_args(Problem):
        raise InputError(f"problem={options.problem!r}: choose one of {', '.join(get_args(Problem))}")
    first, records = _peek(records, source, options.skipped)
    columns = found_columns(options.columns, TEXTS, first.values, source, options.labelled)
    if options.pairs and columns.pair is None:
        raise InputError(f"{source}: no column holds the second texts; name it with --pair-column")
    if options.pairs is False and options.columns.pair is None:
        columns = replace(columns, pair=None)
    chosen = options.columns.text or options.pairs is not None or columns.pair
    unread = None if chosen else TEXTS.get(columns.text or "")
    read = partial(_text_example, columns=columns, problem=options.problem, unread=unread)
    several = options.problem == "multi_label_classification"
    yield from usable(_wanted(records, columns.label, options.skipped, several), read, options.skipped)


def maybe_labelled(records: Iterator[Record], source: str, options: ReadOptions) -> Iterator[TextExample]:
    """Yield the same of rows whose column of labels may be missing. InputError: only later rows have it."""
    first = list(islice(records, 1))
    labelled = bool(options.columns.label) or any(name in record.values for record in first for name in LABELS)
    if options.labelled and not labelled:
        records = usable(records, _unlabelled, options.skipped)
    return text_examples(chain(first, records), source, replace(options, labelled=options.labelled and labelled))


def _unlabelled(record: Record) -> Record:
    if late := next((name for name in LABELS if record.values.get(name) not in (None, "")), None):
        raise InputError(f"{record.cell(late)}: a label, but the first row has none; all need one, or none")
    return record


def choice_examples(records: Iterator[Record], source: str, options: ReadOptions) -> Iterator[ChoiceExample]:
    """Yield texts with several continuations, from rows with lists "choices" or columns ending0, ending1, ...

    The label is the number of the right choice, from 0, or its text. All rows have equally many choices. Columns that
    are not named are found by their usual names, SWAG's for example. Errors call the rows `source`.
    """
    first, records = _peek(records, source, options.skipped)
    columns = replace(options.columns, choices=options.columns.choices or usual_choices(first.values))
    columns = found_columns(columns, BEGINNINGS, first.values, source, options.labelled)
    count = len(_choices(first, columns))
    records = _wanted(records, columns.label, options.skipped)
    yield from usable(records, partial(_choice_example, columns=columns, count=count), options.skipped)


def _peek(records: Iterator[Record], source: str, skipped: Skipped | None) -> tuple[Record, Iterator[Record]]:
    """Return the first row, and all rows."""
    if (first := next(records, None)) is None:
        why = f" that can be used: {skipped}" if skipped else ""
        raise InputError(f"{source}: there are no rows{why}")
    return first, chain([first], records)


def _wanted(
    records: Iterator[Record], column: str | None, skipped: Skipped | None, several: bool = False
) -> Iterator[Record]:
    """Yield the rows without those whose label is unwanted, which are counted."""
    if column is None or skipped is None:
        return records
    return (record for record in records if skipped.wants(_possible_labels(record.values.get(column), several)))


def _possible_labels(value: object, several: bool) -> set[str]:
    """Return what a cell may mean as a label; of `several` in it, each."""
    parts = value.split("|") if several and isinstance(value, str) else value
    return {str(one).strip() for one in (value, _written(value), *(parts if isinstance(parts, list) else []))}


def _text_example(record: Record, columns: Columns, problem: Problem, unread: str | None) -> TextExample:
    """Return the example of a row. InputError: it has a second text, in the column `unread`, unlike the first row."""
    if unread and record.values.get(unread) not in (None, ""):
        raise InputError(f"{record.cell(unread)}: a second text, but the first row has none; all need one, or none")
    text = _text(record, columns.text)
    pair = None if columns.pair is None else _text(record, columns.pair)
    label = None if columns.label is None else _label(record, columns.label, problem)
    return TextExample(_id(record), text, pair, label)


def _id(record: Record) -> str:
    named = (record.values[name] for name in IDS if record.values.get(name) not in (None, ""))
    return str(next(named, record.number))


def _text(record: Record, column: str | None) -> str:
    assert column is not None  # found_columns names it
    return check_text(record.value(column), record.cell(column))


def _label(record: Record, column: str, problem: Problem) -> Label:
    value, where = record.value(column), record.cell(column)
    if value is None or (column == "gold_label" and value == "-"):  # SNLI: its annotators did not agree
        raise InputError(f"{where} holds no label but {value!r}; --on-error skip leaves such rows out")
    if problem == "multi_label_classification":
        return _classes(value, where)
    return _class(value, where) if problem == "single_label_classification" else _number(value, where)


def _class(value: object, where: str) -> str:
    name = _written(value)
    if not isinstance(value, str | int | float) or name.lower() == "nan" or value in (math.inf, -math.inf):
        raise InputError(f"{where} holds no class but {value!r:.40}")
    return check_text(name, where)


def _written(value: object) -> str:
    """Return a value as text. Programs write a whole number also as 1.0."""
    text = str(value).strip()
    text = text.removesuffix(".0") if WHOLE.fullmatch(text) else text
    return "0" if text == "-0" else text


def _number(value: object, where: str) -> float:
    try:
        no_number = isinstance(value, bool) or (isinstance(value, str) and "_" in value)  # Python's 1_0 is ten
        number = math.nan if no_number else float(value)  # type: ignore[arg-type]  # anything else is the TypeError
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        hint = "; decimals have a point" if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value.strip()) else ""
        raise InputError(f"{where} holds no number but {value!r:.40}{hint}")
    return number


def _classes(value: object, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        value = _listed(value.strip(), where)
    if not isinstance(value, list) or not all(type(label) in (str, int) for label in value):  # no true and false
        raise InputError(f"{where} holds no list of labels but {value!r:.40}")
    labels = tuple(sorted(_class(label, where) for label in value))  # so that one set of labels is one value
    if len(set(labels)) < len(labels):
        raise InputError(f"{where} holds a label twice: {value!r:.40}; give the names of those that apply")
    return labels


def _listed(text: str, where: str) -> object:
    if text.startswith("["):
        return parse_json(text, f"{where} begins like a JSON list but is none: {text!r:.40}")
    return text.split("|") if text else []


def _choice_example(record: Record, columns: Columns, count: int) -> ChoiceExample:
    text = _text(record, columns.text)
    found = enumerate(_choices(record, columns))
    choices = tuple(check_text(choice, f"{record.where}: choice {number}") for number, choice in found)
    if len(choices) != count:
        raise InputError(f"{record.where}: {len(choices)} choices, but the first row has {count}; all need as many")
    label = None if columns.label is None else _right_choice(record, columns.label, choices)
    return ChoiceExample(_id(record), text, choices, label)


def _choices(record: Record, columns: Columns) -> list:
    found = [record.value(column) for column in columns.choices]
    choices = found[0] if len(found) == 1 else found
    if not isinstance(choices, list) or len(choices) < 2:
        raise InputError(f"{record.where}: {', '.join(columns.choices)}: no list of two or more choices")
    return choices


def _right_choice(record: Record, column: str, choices: tuple[str, ...]) -> int:
    value, where = record.value(column), record.cell(column)
    text = value.strip() if isinstance(value, str) else _written(value)
    texts = [choice.strip() if isinstance(value, str) else None for choice in choices]
    right = {number for number, choice in enumerate(texts) if text in (str(number), choice)}
    if len(right) != 1:
        named = "could be several" if right else f"is neither 0 ... {len(choices) - 1} nor the text of one"
        raise InputError(f"{where} holds {value!r:.40}: of the {len(choices)} choices, that {named}")
    return right.pop()
