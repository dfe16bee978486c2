"""Examples for a family, from the user's file."""

import json

import pytest

from bertlab import InputError
from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample
from bertlab.corpora.reading import Skipped
from bertlab.tasks.choice import ChoiceTask
from bertlab.tasks.files import FileOptions, hub_set, naming, read_examples
from bertlab.tasks.sequence import SequenceTask
from bertlab.tasks.span import SpanTask
from bertlab.tasks.token import TokenTask

PASSAGE = {"context": "Ann has a dog.", "qas": [{"id": "q", "question": "Who?", "answers": []}]}
FILES = {
    "a.csv": "text,label\na dog,x\n",
    "b.csv": "one,two,kind\na,b,x\n",
    "c.conll": "Ann\tB-who\nruns\tO\n",
    "d.conll": "1 Ann N B-who\n2 runs V O\n",
    "e.json": json.dumps({"data": [{"paragraphs": [PASSAGE]}]}),
    "f.jsonl": json.dumps({"text": "a", "choices": ["b", "c"], "label": 1}),
    "g.csv": "ask,left,right,label\na,b,c,0\n",
}
NAMED = FileOptions(text_column="one", pair_column="two", label_column="kind")
READ = {  # family, file, columns, example
    "text": (SequenceTask, "a.csv", FileOptions(), TextExample("2", "a dog", None, "x")),
    "own columns": (SequenceTask, "b.csv", NAMED, TextExample("2", "a", "b", "x")),
    "words": (TokenTask, "c.conll", FileOptions(), TokenExample("1", ("Ann", "runs"), ("B-who", "O"))),
    "columns of words": (
        TokenTask,
        "d.conll",
        FileOptions(text_column="1", label_column="3"),
        TokenExample("1", ("Ann", "runs"), ("B-who", "O")),
    ),
    "questions": (SpanTask, "e.json", FileOptions(), QAExample("q", "Who?", "Ann has a dog.", "", -1)),
    "choices": (ChoiceTask, "f.jsonl", FileOptions(), ChoiceExample("1", "a", ("b", "c"), 1)),
    "columns of choices": (
        ChoiceTask,
        "g.csv",
        FileOptions(text_column="ask", choice_columns=("left", "right")),
        ChoiceExample("2", "a", ("b", "c"), 0),
    ),
}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.mark.parametrize("name", READ)
def test_each_family_reads_its_files(name, files):
    family, file, columns, example = READ[name]
    assert list(read_examples(family, files / file, columns)) == [example]


def test_without_labels(files):
    (files / "a.csv").write_text("text\na dog\n")
    assert next(read_examples(SequenceTask, files / "a.csv", FileOptions(), labelled=False)).label is None
    (files / "c.conll").write_text("Ann\nruns\n")
    assert next(read_examples(TokenTask, files / "c.conll", FileOptions(), labelled=False)).labels is None


def test_numbers_and_several_classes(files):
    (files / "a.csv").write_text("text,label\na dog,1\n")
    for problem, label in (("regression", 1.0), ("multi_label_classification", ("1",))):
        assert next(read_examples(SequenceTask, files / "a.csv", FileOptions(), problem=problem)).label == label


def test_mistakes_name_the_file_or_the_option(files):
    (files / "none.conll").write_text("\n")
    (files / "bad.csv").write_text("text,label\n,x\n,y\n")
    columns = FileOptions(label_column="tag")
    for message, family, file, how in (
        ("a.csv: no column holds the second texts", SequenceTask, "a.csv", {"pairs": True}),
        ("--label-column tag: columns of CoNLL files are numbers", TokenTask, "c.conll", {"columns": columns}),
        ("none.conll: holds no example$", TokenTask, "none.conll", {}),
        ("none.conll: holds no example$", TokenTask, "none.conll", {"skipped": Skipped()}),
        ("that can be used: left out 2 rows; .*line 2", SequenceTask, "bad.csv", {"skipped": Skipped()}),
    ):
        with pytest.raises(InputError, match=message):
            list(read_examples(family, files / file, how.pop("columns", FileOptions()), **how))


def test_naming_the_source():
    with pytest.raises(InputError, match=r"^a.csv: example 3: bad$"), naming("a.csv"):
        raise InputError("example 3: bad")


def test_data_sets_of_the_hub():
    assert hub_set(SequenceTask, "sst2", FileOptions(), "single_label_classification").address == "nyu-mll/glue/sst2"
    own = hub_set(SequenceTask, "me/mine", NAMED, "regression")
    assert (own.family, own.columns.text, own.columns.pair, own.problem) == ("sequence", "one", "two", "regression")
    with pytest.raises(InputError, match="--dataset squad: is for another task; for this one there are conll2003|wnut"):
        hub_set(TokenTask, "squad", FileOptions(), "single_label_classification")


def test_a_second_text_is_read_where_it_is_wanted(tmp_path):
    path = tmp_path / "both.csv"
    path.write_text("premise,hypothesis,label\none,two,yes\n")
    named = FileOptions(text_column="premise", pair_column="hypothesis")
    wanted = [(None, FileOptions()), (True, FileOptions()), (False, named)]
    assert [next(read_examples(SequenceTask, path, columns, pairs=p)).pair for p, columns in wanted] == ["two"] * 3
    assert next(read_examples(SequenceTask, path, FileOptions(), pairs=False)).pair is None
