"""Data sets of the Hugging Face hub, or of a folder with their files: rows, and labelled examples by name."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path

from bertlab.corpora.examples import Problem, QAExample, TokenExample
from bertlab.corpora.labelled.columns import Columns
from bertlab.corpora.labelled.conll import TAGS, WORDS, Tags, check_word, wanted
from bertlab.corpora.labelled.records import Record
from bertlab.corpora.labelled.squad import SquadEntry, qa_examples
from bertlab.corpora.labelled.tabular import ReadOptions
from bertlab.corpora.reading import Skipped, usable
from bertlab.errors import InputError

PEEK = 1000  # rows that tell how labels are spelled
CONFIGURED = re.compile(r"(\w[\w.-]*/\w[\w.-]*)/(\w[\w.-]*)")


def read_dataset(name: str, column: str = "text") -> Iterator[str]:
    """Yield the text in `column` of each row of the training split, one row in memory at a time.

    `name` and errors are those of `read_rows`; InputError also names a missing column, and the row that holds no text.
    """
    for number, row in enumerate(read_rows(name), start=1):
        where = f"{name}, row {number}"
        if column not in row:
            raise InputError(f"{where}: there is no column {column!r}; choose one of {', '.join(row)}")
        if not isinstance(text := row[column], str):
            raise InputError(f"{where}: {column!r} holds no text but {text!r:.40}; repair or leave out that row")
        yield text


def read_rows(name: str, split: str = "train", **options: str) -> Iterator[dict[str, object]]:
    """Yield the rows of a split, each class number replaced by the name of its class.

    `name` is org/name or org/name/configuration on the hub, or a folder (of JSON lines, Parquet, CSV ...); `options`
    are those of `datasets.load_dataset`. InputError: the data set cannot be fetched, or not be read to its end.
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
    """Return a class, or a list of classes, by name; -1, which marks an unknown one, becomes None."""
    if isinstance(value, list):
        return [_named(item, getattr(feature, "feature", None)) for item in value]
    names = getattr(feature, "names", None)
    if names is None or not isinstance(value, int):
        return value
    return names[value] if value >= 0 else None


Reader = Callable[[Iterator[Record], str, ReadOptions], Iterator]  # rows, what errors call them, options -> examples


@dataclass(frozen=True)
class HubSet:
    """Where a data set is (as in `read_rows`), for which task, and what its columns hold; those that are not given are
    found by their usual names.

    `revision` is the branch of Parquet files that the hub makes of data sets whose own files are a program. `unknown`
    is the number that marks a missing label; of classes it is known to be -1. `dev` is the split to choose a checkpoint
    by, the test split where a data set has no other.
    """

    address: str
    task: str = ""
    columns: Columns = Columns()
    problem: Problem = "single_label_classification"
    revision: str | None = None
    unknown: float | None = None
    dev: str = "validation"


def read_hub(
    source: HubSet, reader: Reader, split: str = "train", pairs: bool | None = None, skipped: Skipped | None = None
) -> Iterator:
    """Yield the examples that the `reader` of a task makes of a split. `pairs` and `skipped` are those of ReadOptions;
    rows without a known label, as in the test splits of GLUE, are mistakes. InputError names the data set and the row.
    """
    options = ReadOptions(source.columns, source.problem, pairs, skipped=skipped)
    yield from reader(_records(source, split), source.address, options)


def _records(source: HubSet, split: str) -> Iterator[Record]:
    options = {"revision": source.revision} if source.revision else {}
    for number, row in enumerate(read_rows(source.address, split, **options), start=1):
        label = source.columns.label
        if label is not None and source.unknown is not None and row.get(label) == source.unknown:
            row[label] = None
        yield Record(f"{source.address}, {split}, row {number}", number, row)


def question_rows(records: Iterator[Record], source: str, options: ReadOptions) -> Iterator[QAExample]:
    """Yield the questions of rows with the columns of SQuAD."""
    return qa_examples(map(_question, records), options.labelled, options.skipped)


def _question(record: Record) -> SquadEntry:
    """Return a row as a SQuAD file has it: each answer with its text and start. The hub lists texts and starts."""
    entry = dict(record.values)
    if isinstance(answers := entry.get("answers"), dict):
        columns = [answers.get(name) for name in ("text", "answer_start")]
        texts_starts = zip_longest(*(column if isinstance(column, list) else [] for column in columns))
        entry["answers"] = [{"text": text, "answer_start": start} for text, start in texts_starts]
    return SquadEntry(entry, entry.get("context"), record.where)


def word_rows(records: Iterator[Record], source: str, options: ReadOptions) -> Iterator[TokenExample]:
    """Yield the sentences of rows with a list of words and one of labels."""
    tags, names = Tags() if options.labelled else None, (options.columns.text or WORDS, options.columns.label or TAGS)
    if tags is not None:
        first = list(islice(records, PEEK))
        found = (record.values.get(names[1]) for record in first)
        tags.decide(label for labels in found if isinstance(labels, list) for label in labels if isinstance(label, str))
        records = chain(first, records)
    read = partial(_token_example, names=names, tags=tags)
    yield from wanted(usable(records, read, options.skipped), options.skipped)


def _token_example(record: Record, names: tuple[str, str], tags: Tags | None) -> TokenExample:
    words = [check_word(word, record.cell(names[0])) for word in _list(record, names[0])]
    if tags is None:
        return TokenExample(str(record.number), tuple(words))
    labels = [(_name(label, record.cell(names[1])), record.cell(names[1])) for label in _list(record, names[1])]
    if len(labels) != len(words):
        raise InputError(f"{record.where}: {len(words)} words, but {len(labels)} labels")
    return TokenExample(str(record.number), tuple(words), tags.read(labels))


def _name(label: object, where: str) -> str:
    """Return a label of a word. InputError: it is a number, whose name the data set does not tell."""
    if not isinstance(label, str):
        raise InputError(f"{where}: {label!r:.40} is no label: give names (O, B-x, I-x ... or DET)")
    return label


def _list(record: Record, column: str) -> list:
    values = record.value(column)
    if not isinstance(values, list) or not values:
        raise InputError(f"{record.cell(column)} holds no list but {values!r:.40}")
    return values


SENTENCE = Columns(text="sentence", label="label")
SENTENCES = Columns("sentence1", "sentence2", "label")
INFERENCE = Columns("premise", "hypothesis", "label")
NAMES = Columns(WORDS, label=TAGS)
PARQUET = "refs/convert/parquet"

HUB = {
    "cola": HubSet("nyu-mll/glue/cola", "sentence", SENTENCE),
    "sst2": HubSet("nyu-mll/glue/sst2", "sentence", SENTENCE),
    "mrpc": HubSet("nyu-mll/glue/mrpc", "sentence", SENTENCES),
    "stsb": HubSet("nyu-mll/glue/stsb", "sentence", SENTENCES, "regression", unknown=-1),
    "qqp": HubSet("nyu-mll/glue/qqp", "sentence", Columns("question1", "question2", "label")),
    "mnli": HubSet("nyu-mll/glue/mnli", "sentence", INFERENCE, dev="validation_matched"),
    "qnli": HubSet("nyu-mll/glue/qnli", "sentence", Columns("question", "sentence", "label")),
    "rte": HubSet("nyu-mll/glue/rte", "sentence", SENTENCES),
    "wnli": HubSet("nyu-mll/glue/wnli", "sentence", SENTENCES),
    "snli": HubSet("stanfordnlp/snli", "sentence", INFERENCE),
    "imdb": HubSet("stanfordnlp/imdb", "sentence", Columns("text", label="label"), dev="test"),
    "ag_news": HubSet("fancyzhx/ag_news", "sentence", Columns("text", label="label"), dev="test"),
    "squad": HubSet("rajpurkar/squad", "qa"),
    "squad_v2": HubSet("rajpurkar/squad_v2", "qa"),
    "wnut_17": HubSet("leondz/wnut_17", "token", NAMES, revision=PARQUET),
    "conll2003": HubSet("eriktks/conll2003", "token", NAMES, revision=PARQUET),
    "swag": HubSet("allenai/swag/regular", "choice", Columns("startphrase", label="label")),
}
