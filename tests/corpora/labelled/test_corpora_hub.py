"""Labelled data sets by name, read from folders that hold the same files as the hub."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample
from bertlab.corpora.labelled.columns import Columns
from bertlab.corpora.labelled.hub_datasets import HUB, HubSet, question_rows, read_hub, word_rows
from bertlab.corpora.labelled.tabular import choice_examples, text_examples
from bertlab.corpora.reading import Skipped
from bertlab.errors import InputError
from bertlab.tasks.registry import find_task


def parquet(folder: Path, split: str, rows: list[dict], **features) -> str:
    """A folder with one split as the hub has it; of the columns in `features` the classes have names."""
    from datasets import ClassLabel, Dataset, Features, List

    columns = Dataset.from_list(rows).features
    for column, names in features.items():
        classes = ClassLabel(names=names)
        columns[column] = List(classes) if isinstance(rows[0][column], list) else classes
    Dataset.from_list(rows, features=Features(columns)).to_parquet(folder / f"{split}.parquet")
    return str(folder)


def jsonl(folder: Path, split: str, *rows: dict) -> str:
    (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder)


@pytest.fixture
def at():
    """Reads the data set of that name from a folder instead of the hub."""

    def read(name: str, folder: str, split: str = "train", **options) -> list:
        source = replace(HUB[name], address=folder, revision=None)
        return list(read_hub(source, find_task(source.task).family.read_rows, split, **options))

    return read


PAIRS = {  # columns of the pairs of texts
    "mrpc": ("sentence1", "sentence2"),
    "rte": ("sentence1", "sentence2"),
    "wnli": ("sentence1", "sentence2"),
    "qqp": ("question1", "question2"),
    "mnli": ("premise", "hypothesis"),
    "snli": ("premise", "hypothesis"),
    "qnli": ("question", "sentence"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_with_classes(tmp_path, at, name):
    rows = [dict(zip(PAIRS[name], "ab", strict=True)) | {"label": label, "idx": 7 + label} for label in (1, 0)]
    folder = parquet(tmp_path, "validation", rows, label=["yes", "no"])
    assert at(name, folder, "validation") == [TextExample("8", "a", "b", "no"), TextExample("7", "a", "b", "yes")]


@pytest.mark.parametrize(
    ("name", "column"), [("cola", "sentence"), ("sst2", "sentence"), ("imdb", "text"), ("ag_news", "text")]
)
def test_texts_with_classes(tmp_path, at, name, column):
    folder = parquet(tmp_path, "train", [{column: "a", "label": 1}], label=["neg", "pos"])
    assert at(name, folder) == [TextExample("1", "a", None, "pos")]


def test_numbers(tmp_path, at):
    """-1 stands where STS-B has no number."""
    folder = jsonl(tmp_path, "test", *({"sentence1": "a", "sentence2": "b", "label": label} for label in (2.5, -1.0)))
    skipped = Skipped()
    assert at("stsb", folder, "test", skipped=skipped) == [TextExample("1", "a", "b", 2.5)]
    assert "test, row 2: 'label' holds no label" in str(skipped)


def test_rows_without_a_known_class(tmp_path, at):
    rows = [{"premise": "a", "hypothesis": "b", "label": label} for label in (-1, 2)]
    folder = parquet(tmp_path, "test", rows, label=["entailment", "neutral", "contradiction"])
    with pytest.raises(
        InputError, match=f"^{folder}, test, row 1: 'label' holds no label but None; --on-error skip leaves"
    ):
        at("snli", folder, "test")
    assert [one.label for one in at("snli", folder, "test", skipped=Skipped())] == ["contradiction"]


@pytest.mark.parametrize("name", ["wnut_17", "conll2003"])
def test_words(tmp_path, at, name):
    rows = [
        {"id": "0", "tokens": ["Ash", "Hill", "ran"], "ner_tags": [1, 2, 0]},
        {"id": "1", "tokens": ["I"], "ner_tags": [2]},
    ]
    folder = parquet(tmp_path, "train", rows, ner_tags=["O", "B-person", "I-person"])
    assert at(name, folder) == [
        TokenExample("1", ("Ash", "Hill", "ran"), ("B-person", "I-person", "O")),
        TokenExample("2", ("I",), ("B-person",)),
    ]


SQUAD = {"id": "q1", "title": "T", "context": "Dog Ash ran.", "question": "Who?"}


@pytest.mark.parametrize("name", ["squad", "squad_v2"])
def test_questions(tmp_path, at, name):
    answers = {"text": ["Ash", "Dog Ash", "Ash"], "answer_start": [4, 0, 4]}
    rows = [SQUAD | {"answers": answers}, SQUAD | {"id": "q2", "answers": {"text": [], "answer_start": []}}]
    folder = parquet(tmp_path, "validation", rows)
    assert at(name, folder, "validation") == [
        QAExample("q1", "Who?", "Dog Ash ran.", "Ash", 4, others=("Dog Ash",)),
        QAExample("q2", "Who?", "Dog Ash ran.", "", -1),
    ]


def test_choices(tmp_path, at):
    row = {"startphrase": "He", "sent1": "?", "label": 1} | {f"ending{number}": f"e{number}" for number in range(4)}
    folder = parquet(tmp_path, "train", [row], label=["0", "1", "2", "3"])
    assert at("swag", folder) == [ChoiceExample("1", "He", ("e0", "e1", "e2", "e3"), 1)]


def test_own_sets(tmp_path):
    """Of any folder, by the usual names of columns or by its own."""
    folder = jsonl(tmp_path, "train", {"text": "a", "label": "x", "body": "b", "tags": ["y", "z"]})
    assert list(read_hub(HubSet(folder), text_examples)) == [TextExample("1", "a", None, "x")]
    own = HubSet(folder, "", Columns("body", label="tags"), "multi_label_classification")
    assert list(read_hub(own, text_examples)) == [TextExample("1", "b", None, ("y", "z"))]


def test_labels_of_words_may_be_spelled_otherwise(tmp_path):
    rows = [{"tokens": ["a", "b"], "ner_tags": labels} for labels in (["O", "S"], ["I", "O"], ["B", "I"])]
    folder = jsonl(tmp_path, "train", *rows)
    found = [one.labels for one in read_hub(HubSet(folder), word_rows)]
    assert found == [("O", "S-name"), ("B-name", "O"), ("B-name", "I-name")]


def test_own_words_and_questions(tmp_path):
    folder = jsonl(
        tmp_path, "train", SQUAD | {"words": ["a"], "tags": ["S-x"], "answers": [{"text": "Ash", "answer_start": 4}]}
    )
    assert list(read_hub(HubSet(folder, columns=Columns("words", label="tags")), word_rows)) == [
        TokenExample("1", ("a",), ("S-x",))
    ]
    assert [one.answer for one in read_hub(HubSet(folder), question_rows)] == ["Ash"]


BAD = {
    "no list": (word_rows, {"tokens": "a", "ner_tags": ["O"]}, "row 1: 'tokens' holds no list but 'a'"),
    "nothing": (word_rows, {"tokens": [], "ner_tags": []}, "row 1: 'tokens' holds no list"),
    "no word": (word_rows, {"tokens": ["a", ""], "ner_tags": ["O", "O"]}, "row 1: 'tokens': '' is no word"),
    "a line end": (word_rows, {"tokens": ["a", "\n"], "ner_tags": ["O", "O"]}, r"row 1: 'tokens': '\\n' is no word"),
    "too few": (word_rows, {"tokens": ["a", "b"], "ner_tags": ["O"]}, "row 1: 2 words, but 1 labels"),
    "numbers": (word_rows, {"tokens": ["a"], "ner_tags": [3]}, "row 1: 'ner_tags': 3 is no label: give names"),
    "no labels": (word_rows, {"tokens": ["a"]}, "row 1: there is no column 'ner_tags', only tokens"),
    "no answers": (question_rows, SQUAD, r'row 1 \(id q1\): "answers" is missing'),
    "no starts": (question_rows, SQUAD | {"answers": {"text": ["Ash"]}}, r'row 1 \(id q1\): "answer_start" is missing'),
    "no context": (question_rows, {"id": "q1", "question": "?"}, r'row 1 \(id q1\): "context" holds no text but None'),
    "no text": (text_examples, {"label": "x"}, "there is no column 'text', only label"),
    "no choices": (choice_examples, {"text": "x", "label": 0}, "there is no column 'choices', only text, label"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_named(tmp_path, name):
    reader, row, message = BAD[name]
    folder = jsonl(tmp_path, "train", row)
    with pytest.raises(InputError, match=f"^{folder}.*{message}"):
        list(read_hub(HubSet(folder), reader))


def test_bad_rows_are_left_out(tmp_path):
    skipped = Skipped()
    folder = jsonl(tmp_path, "train", {"tokens": ["a"], "ner_tags": [3]}, {"tokens": ["b"], "ner_tags": ["O"]})
    assert [one.words for one in read_hub(HubSet(folder), word_rows, skipped=skipped)] == [("b",)]
    assert skipped.count == 1


def test_what_is_asked_of_the_hub(monkeypatch):
    """Address, configuration, split and branch, none of it fetched here."""
    import datasets

    asked = {}

    def load_dataset(*address, **options):
        asked[name] = (address, options)
        return []

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    for name in HUB:
        with suppress(InputError):  # that there are no rows
            list(read_hub(HUB[name], text_examples, "dev"))
    usual = {"split": "dev", "streaming": True}
    assert asked["mnli"] == (("nyu-mll/glue", "mnli"), usual)
    assert asked["squad"] == (("rajpurkar/squad",), usual)
    assert asked["conll2003"] == (("eriktks/conll2003",), usual | {"revision": "refs/convert/parquet"})
    assert len(asked) == len(HUB) == 17


def test_a_split_that_is_not_there(tmp_path):
    folder = jsonl(tmp_path, "train", {"text": "a", "label": "b"})
    with pytest.raises(InputError, match="cannot be read after row 0 .*dev"):
        list(read_hub(HubSet(folder), text_examples, "dev"))
