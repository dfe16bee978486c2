"""Data sets of the Hugging Face hub, or of a folder with their files: rows, and labelled examples by name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from bertlab.corpora.conll import as_bio, check_label, check_word
from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample
from bertlab.corpora.reading import Skipped, usable
from bertlab.corpora.records import Record
from bertlab.corpora.squad import Question, qa_examples
from bertlab.corpora.tabular import Columns, Problem, choice_examples, text_examples
from bertlab.errors import InputError

CONFIGURED = re.compile(r"(\w[\w.-]*/\w[\w.-]*)/(\w[\w.-]*)")


def read_dataset(name: str, column: str = "text") -> Iterator[str]:
    """The text in `column` of each row of the training split, none of it in memory before its turn.

    `name` and errors are as in `read_rows`; InputError too where there is no such column, or a row (named by its
    number) holds something else there.
    """
    for number, row in enumerate(read_rows(name), start=1):
        yield _text(row, column, f"{name}, row {number}")


def read_rows(name: str, split: str = "train", **options: str) -> Iterator[dict[str, object]]:
    """The rows of a split as they come, each number that stands for a class as the name of that class.

    `name` is org/name or org/name/configuration on the hub, or a folder (of JSON lines, Parquet, CSV ...); `options`
    are those of `datasets.load_dataset`. InputError: it cannot be had or read on.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise InputError("data sets need the package datasets: install it with pip install datasets") from error
    configured = CONFIGURED.fullmatch(name)
    address = configured.groups() if configured and not Path(name).exists() else (name,)
    number = 0
    try:
        rows = load_dataset(*address, split=split, streaming=True, **options)
        features = getattr(rows, "features", None) or {}
        for row in rows:
            number += 1
            yield {column: _named(value, features.get(column)) for column, value in row.items()}
    except Exception as error:  # of the network, the hub, each file format: they share no base class
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{name}: cannot be read after row {number} ({reason}); check the name and the network, or give the "
            "folder of a data set that you have"
        ) from error


def _named(value: object, feature: object) -> object:
    """A class, or a list of them, by name; -1 stands where none is known, and becomes None."""
    if isinstance(value, list):
        return [_named(item, getattr(feature, "feature", None)) for item in value]
    names = getattr(feature, "names", None)
    if names is None or not isinstance(value, int):
        return value
    return names[value] if value >= 0 else None


def _text(row: dict, column: str, where: str) -> str:
    if column not in row:
        raise InputError(f"{where}: there is no column {column!r}; choose one of {', '.join(row)}")
    if not isinstance(row[column], str):
        raise InputError(f"{where}: {column!r} holds no text but {row[column]!r:.40}; repair or leave out that row")
    return row[column]


Family = Literal["sequence", "token", "span", "choice"]
Example = TextExample | TokenExample | QAExample | ChoiceExample


@dataclass(frozen=True)
class HubSet:
    """Where a data set is (as in `read_rows`), and what it is for; columns are found by their usual names if not given.

    `revision` is the branch of Parquet files that the hub makes of sets whose own files are a program. `unknown` is
    the number that stands where a row has no label; for classes that is known to be -1. `dev` is the split to choose
    a checkpoint by, for sets without one the test split.
    """

    address: str
    family: Family
    columns: Columns = Columns()
    problem: Problem = "single_label_classification"
    revision: str | None = None
    unknown: float | None = None
    dev: str = "validation"


SENTENCE = Columns(text="sentence", label="label")
SENTENCES = Columns("sentence1", "sentence2", "label")
INFERENCE = Columns("premise", "hypothesis", "label")
WORDS = Columns(text="tokens", label="ner_tags")
PARQUET = "refs/convert/parquet"

HUB = {
    "cola": HubSet("nyu-mll/glue/cola", "sequence", SENTENCE),
    "sst2": HubSet("nyu-mll/glue/sst2", "sequence", SENTENCE),
    "mrpc": HubSet("nyu-mll/glue/mrpc", "sequence", SENTENCES),
    "stsb": HubSet("nyu-mll/glue/stsb", "sequence", SENTENCES, "regression", unknown=-1),
    "qqp": HubSet("nyu-mll/glue/qqp", "sequence", Columns("question1", "question2", "label")),
    "mnli": HubSet("nyu-mll/glue/mnli", "sequence", INFERENCE, dev="validation_matched"),
    "qnli": HubSet("nyu-mll/glue/qnli", "sequence", Columns("question", "sentence", "label")),
    "rte": HubSet("nyu-mll/glue/rte", "sequence", SENTENCES),
    "wnli": HubSet("nyu-mll/glue/wnli", "sequence", SENTENCES),
    "snli": HubSet("stanfordnlp/snli", "sequence", INFERENCE),
    "imdb": HubSet("stanfordnlp/imdb", "sequence", Columns("text", label="label"), dev="test"),
    "ag_news": HubSet("fancyzhx/ag_news", "sequence", Columns("text", label="label"), dev="test"),
    "squad": HubSet("rajpurkar/squad", "span"),
    "squad_v2": HubSet("rajpurkar/squad_v2", "span"),
    "wnut_17": HubSet("leondz/wnut_17", "token", WORDS, revision=PARQUET),
    "conll2003": HubSet("eriktks/conll2003", "token", WORDS, revision=PARQUET),
    "swag": HubSet("allenai/swag/regular", "choice", Columns("startphrase", label="label")),
}


def read_hub(
    source: str | HubSet, split: str = "train", *, labelled: bool = True, skipped: Skipped | None = None
) -> Iterator[Example]:
    """The examples of a split, one by one, of a data set by its name in `HUB` or of any that a HubSet describes.

    Rows without a known label, as in the test splits of GLUE, are mistakes unless `labelled=False`. InputError names
    the data set and the row; with `skipped` that row is left out and counted.
    """
    if isinstance(source, str):
        if source not in HUB:
            raise InputError(f"{source}: no data set that is known by its name, as are {', '.join(HUB)}")
        source = HUB[source]
    records = _records(source, split)
    if source.family == "sequence":
        yield from text_examples(records, source.address, source.columns, source.problem, labelled, skipped)
    elif source.family == "choice":
        yield from choice_examples(records, source.address, source.columns, labelled, skipped)
    elif source.family == "span":
        yield from qa_examples(map(_question, records), labelled, skipped)
    else:
        yield from usable(records, partial(_token_example, columns=source.columns, labelled=labelled), skipped)


def _records(source: HubSet, split: str) -> Iterator[Record]:
    options = {"revision": source.revision} if source.revision else {}
    for number, row in enumerate(read_rows(source.address, split, **options), start=1):
        if source.unknown is not None and row.get(source.columns.label) == source.unknown:
            row[source.columns.label] = None
        yield Record(f"{source.address}, {split}, row {number}", number, row)


def _question(record: Record) -> Question:
    """With its answers as in a SQuAD file, where each has its text and start; the hub has all texts and all starts."""
    entry = dict(record.values)
    if isinstance(answers := entry.get("answers"), dict):
        columns = [answers.get(name) for name in ("text", "answer_start")]
        texts_starts = zip_longest(*(column if isinstance(column, list) else [] for column in columns))
        entry["answers"] = [{"text": text, "answer_start": start} for text, start in texts_starts]
    return Question(entry, entry.get("context"), record.where)


def _token_example(record: Record, columns: Columns, labelled: bool) -> TokenExample:
    names = columns.text or WORDS.text, columns.label or WORDS.label
    words = [check_word(word, record.place(names[0])) for word in _list(record, names[0])]
    if not labelled:
        return TokenExample(str(record.number), tuple(words))
    labels = [check_label(str(label), record.place(names[1])) for label in _list(record, names[1])]
    if len(labels) != len(words):
        raise InputError(f"{record.where}: {len(words)} words, but {len(labels)} labels")
    return TokenExample(str(record.number), tuple(words), as_bio(labels))


def _list(record: Record, column: str) -> list:
    values = record.value(column)
    if not isinstance(values, list) or not values:
        raise InputError(f"{record.place(column)} holds no list but {values!r:.40}")
    return values
