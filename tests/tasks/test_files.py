"""Examples for a family, from the user's file."""

import json

import pytest

from bertlab import InputError
from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample
from bertlab.tasks.choice import ChoiceTask
from bertlab.tasks.embedding import EmbeddingTask
from bertlab.tasks.files import FileOptions, naming
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
    "h.jsonl": '{"tokens": ["Ann", "runs"], "ner_tags": ["B-who", "O"]}\n',
    "i.jsonl": '{"words": ["Ann", "runs"], "pos": ["PROPN", "VERB"]}\n',
    "g.csv": "ask,left,right,label\na,b,c,0\n",
}
UNLABELLED = FileOptions().reading(labelled=False)
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
    "lists of words": (TokenTask, "h.jsonl", FileOptions(), TokenExample("1", ("Ann", "runs"), ("B-who", "O"))),
    "own lists": (
        TokenTask,
        "i.jsonl",
        FileOptions(text_column="words", label_column="pos"),
        TokenExample("1", ("Ann", "runs"), ("PROPN", "VERB")),
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
    assert list(family.read_examples(files / file, columns.reading())) == [example]


def test_without_labels(files):
    (files / "a.csv").write_text("text\na dog\n")
    assert next(SequenceTask.read_examples(files / "a.csv", UNLABELLED)).label is None
    (files / "c.conll").write_text("Ann\nruns\n")
    assert next(TokenTask.read_examples(files / "c.conll", UNLABELLED)).labels is None


def test_numbers_and_several_classes(files):
    (files / "a.csv").write_text("text,label\na dog,1\n")
    for problem, label in (("regression", 1.0), ("multi_label_classification", ("1",))):
        assert next(SequenceTask.read_examples(files / "a.csv", FileOptions().reading(problem))).label == label


def test_mistakes_name_the_file_or_the_option(files):
    (files / "none.conll").write_text("\n")
    (files / "bad.csv").write_text("text,label\n,x\n,y\n")
    tagged, usual, skip = FileOptions(label_column="tag"), FileOptions(), FileOptions(on_error="skip")
    for message, family, file, options in (
        ("a.csv: no column holds the second texts", SequenceTask, "a.csv", usual.reading(pairs=True)),
        ("--label-column tag: columns of CoNLL files are numbers", TokenTask, "c.conll", tagged.reading()),
        ("none.conll: holds no example$", TokenTask, "none.conll", usual.reading()),
        ("none.conll: holds no example$", TokenTask, "none.conll", skip.reading()),
        ("that can be used: left out 2 rows; .*line 2", SequenceTask, "bad.csv", skip.reading()),
    ):
        with pytest.raises(InputError, match=message):
            list(family.read_examples(files / file, options))


def test_naming_the_source():
    with pytest.raises(InputError, match=r"^a.csv: example 3: bad$"), naming("a.csv"):
        raise InputError("example 3: bad")


def test_data_sets_of_the_hub():
    classes = "single_label_classification"
    assert SequenceTask.hub_set("sst2", FileOptions().columns, classes).address == "nyu-mll/glue/sst2"
    own = SequenceTask.hub_set("me/mine", NAMED.columns, "regression")
    assert (own.columns.text, own.columns.pair, own.problem) == ("one", "two", "regression")
    for family, others in ((TokenTask, "wnut_17, conll2003"), (EmbeddingTask, "none")):
        with pytest.raises(InputError, match=f"--dataset squad: is for another task; for this one there are {others}"):
            family.hub_set("squad", FileOptions().columns, classes)
    assert SequenceTask.hub_set("stsb", FileOptions().columns, classes).problem == "regression"
    for columns, problem in ((NAMED.columns, classes), (FileOptions().columns, "regression")):
        with pytest.raises(InputError, match="sst2: .* known.* give its address: --dataset nyu-mll/glue/sst2"):
            SequenceTask.hub_set("sst2", columns, problem)


def test_a_second_text_is_read_where_it_is_wanted(tmp_path):
    path = tmp_path / "both.csv"
    path.write_text("premise,hypothesis,label\none,two,yes\n")
    named = FileOptions(text_column="premise", pair_column="hypothesis")
    wanted = [(None, FileOptions()), (True, FileOptions()), (False, named)]
    for pairs, columns in wanted:
        assert next(SequenceTask.read_examples(path, columns.reading(pairs=pairs))).pair == "two"
    assert next(SequenceTask.read_examples(path, FileOptions().reading(pairs=False))).pair is None
