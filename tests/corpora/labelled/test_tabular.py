"""Texts with classes or numbers, from CSV, TSV, JSON lines and plain lines."""

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.cli.shared.examples import odd_labels
from bertlab.corpora.examples import TextExample
from bertlab.corpora.labelled.parts import shared_text
from bertlab.corpora.labelled.records import read_records
from bertlab.corpora.labelled.tabular import read_table
from bertlab.corpora.reading import Skipped, is_blank
from bertlab.errors import InputError
from bertlab.tasks.files import FileOptions
from bertlab.tasks.sequence import SequenceTask
from bertlab.tasks.token import TokenTask
from tests.conftest import tries

SHARED = Path(__file__).parents[4] / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not SHARED.exists(), reason="real data sets are not beside the clone (../shared/data)"
)
SEVERAL = "multi_label_classification"


def shows(text: str) -> bool:
    return not is_blank(text)


def write(place: Path, name: str, *lines: str | dict) -> Path:
    path = place / name
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def as_csv(*rows: list[str]) -> str:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()


OWN = {"text_column": "body", "label_column": "kind"}
NUMBERS = {"text_column": "2", "label_column": "0"}

# What files look like: name, lines, options, the one example. Published ones stand in test_published_formats.py.
FILES = {
    "plain": ("a.csv", ["text,label", "Good.,pos"], {}, TextExample("2", "Good.", None, "pos")),
    "pair": ("a.jsonl", [{"text": "a", "pair": "b", "label": 1}], {}, TextExample("1", "a", "b", "1")),
    "GLUE's test": ("test.tsv", ["index\tsentence", "0\ta film"], {"labelled": False}, TextExample("0", "a film")),
    "lines": ("a.txt", ["", " One. ", ""], {"labelled": False}, TextExample("2", " One. ")),
    "semicolons": ("a.txt", ["text;label", '"So, so; or not";x'], {}, TextExample("2", "So, so; or not", None, "x")),
    "a tab in a .csv": ("a.csv", ["label\ttext", '1\t"Yes, he said'], {}, TextExample("2", '"Yes, he said', None, "1")),
    "commas in a .tsv": ("a.tsv", ["body,kind", "a;b;c,x"], OWN, TextExample("2", "a;b;c", None, "x")),
    "| and no ending": ("train", ["kind|body", "x|a, b"], OWN, TextExample("2", "a, b", None, "x")),
    "one column": ("a.csv", ["text", '"a, b\tc"'], {"labelled": False}, TextExample("2", "a, b\tc")),
    "numbers, and names that nobody knows": ("a.csv", ["0,1,2", "x,y,z"], NUMBERS, TextExample("2", "z", None, "x")),
    "numbers, no names": ("a.csv", ['x,4,"a, b"'], NUMBERS, TextExample("1", "a, b", None, "x")),
    "numbers of usual names": ("a.csv", ["kind,x,text", "x,y,z"], NUMBERS, TextExample("2", "z", None, "x")),
    "cells behind the names": ("a.tsv", ["text\tlabel", "a\tb\tlicence"], {}, TextExample("2", "a", None, "b")),
    "blank cells behind a text": (
        *("a.tsv", ["label\ttext", "a\tb\t \t"], {}),
        TextExample("2", "b", None, "a"),
    ),
    "cells that nobody asks for": ("a.tsv", ["label\ttext\tmore", "a\tb"], {}, TextExample("2", "b", None, "a")),
    "numbered names": (
        "a.csv",
        ["0,1", "a,b"],
        {"text_column": "0", "label_column": "1"},
        TextExample("2", "a", None, "b"),
    ),
    "a JSON list": ("a.json", ['[{"text": "a",', '"label": 1}]'], {}, TextExample("1", "a", None, "1")),
    "JSON lines of another ending": ("a.ndjson", [{"text": "a", "label": 1}], {}, TextExample("1", "a", None, "1")),
    "own names": (
        *("a.json", [{"body": "a", "title": "b", "text": "c", "kind": True, "id": ""}]),
        *({"text_column": "body", "pair_column": "title", "label_column": "kind"}, TextExample("1", "a", "b", "True")),
    ),
    "an own name has no pair": (
        *("a.CSV", ["sentence1,sentence2,label", "a,b,c"], {"text_column": "sentence1"}),
        TextExample("2", "a", None, "c"),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_as_they_come(tmp_path, name):
    file, lines, options, example = FILES[name]
    assert list(read_table(write(tmp_path, file, *lines), **options)) == [example]


LABELLED = ["1 a film , and a fine one", '0 3 " stars', "", "1   so; so|", "0 no"]


def test_a_label_a_blank_and_a_text(tmp_path):
    read = [("1", "a film , and a fine one"), ("0", '3 " stars'), ("1", "so; so|"), ("0", "no")]
    for file, columns in (("a.txt", {}), ("stsa.binary.train", {}), ("a", {"label_column": "0", "text_column": "1"})):
        examples = list(read_table(write(tmp_path, file, *LABELLED), **columns))
        assert [(one.label, one.text) for one in examples] == read and examples[2].id == "4"
    named = [line.replace("1", "ENTY:animal", 1).replace("0", "HUM:ind", 1) for line in LABELLED]
    examples = read_table(write(tmp_path, "a.txt", *named), label_column="0", text_column="1")
    assert [(one.label, one.text) for one in examples][:2] == [("ENTY:animal", read[0][1]), ("HUM:ind", read[1][1])]
    late = write(tmp_path, "a.txt", *LABELLED * 25, "word")
    with pytest.raises(InputError, match="a.txt, line 126: no label, blank and text"):
        list(read_table(late))


YEARS = ["2014 was good.", "2014 was long.", "2015 was short.", "2015 was bad."]


@pytest.mark.parametrize("lines", [["1 First.", "2 Second."], ["The one.", "The other.", "The one."], YEARS])
def test_lines_that_begin_alike_are_texts(tmp_path, lines):
    assert [one.text for one in read_table(write(tmp_path, "a.txt", *lines), labelled=False)] == lines


@pytest.mark.parametrize("family", [SequenceTask, TokenTask])
def test_a_number_before_a_text_to_predict_is_part_of_it(tmp_path, family, tok):
    lines = ["2 cups sugar", "1 cup milk", "2 eggs", "1 lemon"]
    path, options = write(tmp_path, "a.txt", *lines), FileOptions().reading(labelled=False)
    assert [shared_text(one) for one in family(tok, 32).read_new(path, options)] == lines
    cut = [one.text for one in read_table(path, text_column="1", label_column="0", labelled=False)]
    assert cut == [line.split(" ", 1)[1] for line in lines] == [one.text for one in read_table(path)]


def test_unwanted_labels_are_left_out_and_counted(tmp_path):
    skipped = Skipped(stop=True, unwanted=frozenset(["-", "?"]))
    rows = [{"text": "a", "gold_label": label} for label in ("x", "-", "?", " - ", "y")]
    path = write(tmp_path, "a.jsonl", *rows)
    assert [one.label for one in read_table(path, skipped=skipped)] == ["x", "y"]
    assert str(skipped) == "left out 2 rows labelled '-'; left out 1 row labelled '?'"
    assert skipped and not Skipped()


def test_an_unwanted_label_is_one_of_several_or_a_number(tmp_path):
    several = write(tmp_path, "a.csv", "text,label", "t,a|b", "t,b", "t,a b")
    skipped = Skipped(unwanted=frozenset(["a"]))
    assert [one.label for one in read_table(several, problem=SEVERAL, skipped=skipped)] == [("b",), ("a b",)]
    numbers = write(tmp_path, "a.jsonl", {"text": "t", "label": 1.0}, {"text": "t", "label": 2})
    skipped = Skipped(unwanted=frozenset(["1"]))
    assert [one.label for one in read_table(numbers, skipped=skipped)] == ["2"]
    one_of_several = Skipped(unwanted=frozenset(["a"]))
    assert len(list(read_table(several, skipped=one_of_several))) == 3  # here a|b is one class


def test_several_labels_are_one_value_in_any_order(tmp_path):
    several = write(tmp_path, "a.csv", "text,label", "t,b|a", "t,a|b")
    assert [one.label for one in read_table(several, problem=SEVERAL)] == [("a", "b")] * 2


def test_quoted_rows_over_several_lines(tmp_path):
    """The id, and what an error names, is the line where the row begins; blank lines are no rows."""
    long = "line\r\n" * 40_000  # a cell longer than the 131,072 characters that the csv module allows
    text = as_csv(["text", "label"], [long + 'a "b", c', "x"], [], ["d\ne", "y"], ["f", ""])
    path = write(tmp_path, "a.csv", text.rstrip())
    rows = read_table(path)
    assert next(rows) == TextExample("2", long + 'a "b", c', None, "x")
    assert next(rows) == TextExample("40004", "d\ne", None, "y")
    with pytest.raises(InputError, match="a.csv, line 40006: 'label' is empty"):
        next(rows)


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ("a", ("a",)),
        ("a|b, c", ("a", "b, c")),
        ("Food, drink", ("Food, drink",)),
        (" a | b", ("a", "b")),
        ("", ()),
        (" ", ()),
        ('["a", "b|c"]', ("a", "b|c")),
        ("[]", ()),
        (["a", 3], ("3", "a")),
        ([], ()),
    ],
)
def test_several_labels(tmp_path, value, labels):
    path = write(tmp_path, "a.jsonl", {"text": "t", "labels": value})
    assert [one.label for one in read_table(path, problem=SEVERAL)] == [labels]
    if isinstance(value, str):
        path = write(tmp_path, "a.csv", as_csv(["text", "labels"], ["t", value]))
        assert [one.label for one in read_table(path, problem=SEVERAL)] == [labels]


def test_a_label_that_joins_others_is_mentioned(tmp_path):
    path = write(tmp_path, "a.csv", "text,label", *['t,"a, b"', "t,a", "t,b", 't,"c, a"'] * 3)
    said = odd_labels(list(read_table(path, problem=SEVERAL)), SequenceTask)
    assert "the label 'a, b' is one, though its parts are labels, too: several need --set problem=multi_label" in said
    assert "'c, a'" not in said
    path = write(tmp_path, "a.csv", "text,label", *["t,a|b", "t,a", "t,b"] * 3)
    assert "the label 'a|b' is one, though its parts are labels, too" in odd_labels([*read_table(path)], SequenceTask)


def test_a_whole_number_is_one_class_however_it_is_written(tmp_path):
    path = write(
        tmp_path, "a.jsonl", *({"text": "t", "label": label} for label in (1, 1.0, "1", "1.0", -2.0, 1.5, "x.0"))
    )
    assert [one.label for one in read_table(path)] == ["1", "1", "1", "1", "-2", "1.5", "x.0"]
    path = write(tmp_path, "a.csv", "text,label", "t,3.0", "t,3", "t,3.00")
    assert [one.label for one in read_table(path)] == ["3", "3", "3.00"]


@pytest.mark.parametrize("missing", ["NA", "N/A", "None", "null"])
def test_a_label_that_may_be_none_is_mentioned(tmp_path, missing):
    path = write(tmp_path, "a.csv", "text,label", *[f"t,{label}" for label in (missing, "good", "bad")] * 3)
    said = odd_labels(list(read_table(path)), SequenceTask)
    assert said.startswith(f"the label '{missing}' is learned like the others, but may mean that there is none;")
    assert odd_labels([one for one in read_table(path) if one.label != "bad"], SequenceTask) == ""


def test_rows_numbered_by_r_do_not_shift_the_columns(tmp_path):
    """In another order they are labels, and cells behind the names."""
    rows = [f"{number}\t{number % 5}\ta film" for number in range(1, 12)]
    asked = {"label_column": "stars", "problem": "regression"}
    with pytest.raises(InputError, match="a.tsv: its first column, which numbers the rows, has no name: add one"):
        list(read_table(write(tmp_path, "a.tsv", "stars\ttext", *rows), **asked))
    assert list(read_table(write(tmp_path, "a.tsv", "text\tstars", *rows[1:]), **asked))[0].label == 2
    rows = [f"{row}\tlicence" for row in rows]
    assert list(read_table(write(tmp_path, "a.tsv", "id\ttext\tstars", *rows), labelled=False))[0].id == "1"


def test_names_in_quotes_between_tabs_are_explained(tmp_path):
    path = write(tmp_path, "a.tsv", '"text"\t"label"', '"a"\t"b"')
    for columns in ({}, {"text_column": "0", "label_column": "1"}):
        with pytest.raises(InputError, match="a.tsv: the names of its columns stand in quotes, .*: save it as CSV"):
            list(read_table(path, **columns))


def test_zero_below_zero_is_zero(tmp_path):
    path = write(tmp_path, "a.csv", "text,label", "t,-0.0", "t,0", "t,-0")
    assert {one.label for one in read_table(path)} == {"0"}


@pytest.mark.parametrize(
    "pair", [("Pos", "pos"), ("caf\u00e9", "cafe\u0301"), ("x\u200b", "x"), ("0.5", "0.50"), ("a b", "ab")]
)
def test_labels_that_look_alike_are_mentioned(tmp_path, pair):
    path = write(tmp_path, "a.csv", "text,label", *[f"t,{label}" for label in (*pair, "other")] * 3)
    said = odd_labels(list(read_table(path)), SequenceTask)
    assert f"the labels {ascii(pair[0])} and {ascii(pair[1])} are two, though they look alike" in said


def test_other_encodings(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nIt’s café,pos\n".encode("cp1252"))
    assert [one.text for one in read_table(path, encoding="cp1252")] == ["It’s café"]
    with pytest.raises(InputError, match="a.csv: not UTF-8 at byte 13; it looks like cp1252: give --encoding cp1252"):
        list(read_table(path))
    for encoding in ("utf-16", "utf-32"):  # their byte order marks tell them
        path.write_text("text,label\nIt’s café,pos\n", encoding=encoding)
        assert [one.text for one in read_table(path)] == ["It’s café"]


# Mistakes in one row: file name, first lines, the bad one, options, message.
HEAD = "text,label"
BAD_ROWS = {
    "ragged": ("a.csv", [HEAD, "a,b"], "a,b,c", {}, "line 3: 3 columns, but the first line has 2"),
    "short": ("a.tsv", ["text\tlabel", "a\tb"], "a", {}, "line 3: there is no column 'label', only text"),
    "no text": ("a.csv", [HEAD, "a,b"], " ,b", {}, "line 3: 'text' is empty"),
    "no label": ("a.csv", [HEAD, "a,b"], "a, ", {}, "line 3: 'label' is empty"),
    "nul": ("a.csv", [HEAD, "a,b"], "a\0b,b", {}, "line 3: 'text' holds a NUL .*--encoding utf-16-le"),
    "no number": (
        "a.csv",
        [HEAD, "a,1"],
        "a,one",
        {"problem": "regression"},
        "line 3: 'label' holds no number but 'one'",
    ),
    "Python's number": ("a.csv", [HEAD, "a,1"], "a,1_0", {"problem": "regression"}, "holds no number but '1_0'"),
    "nothing that shows": (
        "a.csv",
        [HEAD, "a,b"],
        "\u200b\u0301,b",
        {},
        "'text' is empty but for characters that do not",
    ),
    "two files joined": ("a.csv", [HEAD, "a,b"], HEAD, {}, "line 3: repeats the first line, the names of the columns"),
    "two files of Excel joined": ("a.csv", [HEAD, "a,b"], f"\ufeff{HEAD}", {}, "line 3: repeats the first line"),
    "a second text, late": (
        *("a.jsonl", [{"text": "a", "label": "b"}], {"text": "a", "pair": "c", "label": "b"}),
        *({}, "line 2: 'pair': a second text, but the first row has none"),
    ),
    "a comma": (
        "a.csv",
        ["text;label", "a;1.5"],
        "a;1,5",
        {"problem": "regression"},
        "but '1,5'; decimals have a point",
    ),
    "nan": ("a.csv", [HEAD, "a,1"], "a,nan", {"problem": "regression"}, "holds no number but 'nan'"),
    "a cell in quotes, cut at its tab": (
        *("a.tsv", ["text\tlabel", "a\tb"], '"a\tb"\tc'),
        *({}, "line 3: 3 columns, one with a .* that a later one closes; save it as CSV"),
    ),
    "a tab in the last text": (
        *("a.tsv", ["label\ttext", "a\tb"], "a\tb,\tbut c"),
        *({}, "line 3: 3 columns, but the first line has 2, 'text' the last; if a text holds a tab, save it as CSV"),
    ),
    "a tab in the last text, by number": (
        *("a.tsv", ["label\ttext", "a\tb"], "a\tb,\tbut c"),
        *({"text_column": "1", "label_column": "0"}, "line 3: 3 columns, but .*, 'text' the last"),
    ),
    "a text of several lines": (
        *("a.tsv", ["text\tkind", "a\tb"], '"two'),
        *({"labelled": False}, 'line 3: 1 columns, but .*opens a "; if a text has several lines, save it as CSV'),
    ),
    "no JSON": ("a.jsonl", [{"text": "a", "label": "b"}], "{'text': 1}", {}, "line 2: cannot .*at character 1"),
    "no object": ("a.jsonl", [{"text": "a", "label": "b"}], "[1]", {}, "line 2: JSON, but no object"),
    "a number": ("a.jsonl", [{"text": "a", "label": "b"}], {"text": 3, "label": "b"}, {}, "'text' holds no text but 3"),
    "left out": (
        *("a.jsonl", [{"text": "a", "label": "b"}], {"text": "a", "kind": 1}),
        *({}, "line 2: there is no column 'label', only text, kind"),
    ),
    "no pair": (
        *("a.jsonl", [{"text": "a", "pair": "b", "label": "b"}], {"text": "a", "pair": None, "label": "b"}),
        *({}, "line 2: 'pair' holds no text but None"),
    ),
    "null": ("a.jsonl", [{"text": "a", "label": "b"}], {"text": "a", "label": None}, {}, "holds no label but None"),
    "a list": ("a.jsonl", [{"text": "a", "label": "b"}], {"text": "a", "label": ["b"]}, {}, "holds no class but .'b'."),
    "true": (
        *("a.jsonl", [{"text": "a", "label": 1}], {"text": "a", "label": True}),
        *({"problem": "regression"}, "holds no number but True"),
    ),
    "no agreement": (
        *("a.jsonl", [{"sentence1": "a", "gold_label": "b"}], {"sentence1": "a", "gold_label": "-"}),
        *({}, "line 2: 'gold_label' holds no label but '-'"),
    ),
    "a switch for each": (
        *("a.jsonl", [{"text": "a", "label": ["b"]}], {"text": "a", "label": [0, 1, 1]}),
        *({"problem": SEVERAL}, r"'label' holds a label twice: \[0, 1, 1\]; give the names"),
    ),
    "switches": (
        *("a.jsonl", [{"text": "a", "label": ["b"]}], {"text": "a", "label": [True, False]}),
        *({"problem": SEVERAL}, r"'label' holds no list of labels but \[True, False\]"),
    ),
    "NaN": (
        "a.jsonl",
        [{"text": "a", "label": 1}],
        '{"text": "a", "label": NaN}',
        {},
        "'label' holds no class but nan",
    ),
    "infinity": ("a.jsonl", [{"text": "a", "label": 1}], '{"text": "a", "label": 1e999}', {}, "holds no class but inf"),
    "nan in a table": ("a.csv", [HEAD, "a,1"], "a,nan", {}, "'label' holds no class but 'nan'"),
    "weights": (
        *("a.jsonl", [{"text": "a", "label": ["b"]}], {"text": "a", "label": [0.5]}),
        *({"problem": SEVERAL}, r"'label' holds no list of labels but \[0.5\]"),
    ),
    "no name": (
        *("a.csv", [HEAD, "a,b"], "a,b||c"),
        *({"problem": SEVERAL}, "line 3: 'label' is empty"),
    ),
    "Python's list": ("a.csv", [HEAD, "a,b"], "a,['b']", {"problem": SEVERAL}, "begins like a JSON list but is none"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_is_named_or_left_out(tmp_path, name):
    file, lines, bad, options, said = BAD_ROWS[name]
    path = write(tmp_path, file, *lines, bad, lines[-1])
    with pytest.raises(InputError, match=f"{file}, .*{said}") as error:
        list(read_table(path, **options))
    assert "\n" not in str(error.value)
    skipped = Skipped()
    good = list(read_table(path, **options, skipped=skipped))
    assert [one.id for one in good] == [str(len(lines)), str(len(lines) + 2)]
    assert skipped.count == 1 and skipped.first == str(error.value)


# Mistakes that leave nothing to go on with.
BAD_FILES = {
    "no such column": ("a.csv", ["words,label", "a,b"], {}, "a.csv: there is no column 'text', only words, label"),
    "own column": ("a.csv", [HEAD, "a,b"], {"text_column": "body"}, "there is no column 'body', only text, label"),
    "text and label": ("a.csv", [HEAD, "a,b"], {"text_column": "label"}, "column 'label' cannot be two of text, pair"),
    "text and pair": (
        "a.csv",
        [HEAD, "a,b"],
        {"pair_column": "text"},
        "a.csv: column 'text' cannot be two of text, pair",
    ),
    "a number of thousands of digits": (
        "a.csv",
        ["a,b"],
        {"text_column": "9" * 5000},
        "a.csv: there is no column '999",
    ),
    "no labels": ("a.jsonl", [{"text": "a"}], {}, "there is no column 'label', only text"),
    "lines": ("a.txt", ["a"], {}, "there is no column 'label', only text"),
    "an open quote": (
        "a.csv",
        [HEAD, "a,b", '"a,b', "c,d"],
        {},
        'line 3: the row that begins here is no CSV .*written ""',
    ),
    "a stray quote": ("a.csv", [HEAD, '"a" b,b'], {}, "line 2: the row that begins here is no CSV"),
    "a list that is cut": ("a.json", ['[{"text": "a", "label": "b"}'], {}, "a.json: cannot be read as JSON"),
    "JSON as text": (
        "a.txt",
        [{"text": "a", "label": "b"}],
        {"labelled": False},
        "a.txt: begins with a JSON object, not with text: give the file the ending .jsonl",
    ),
    "nothing": ("a.csv", [], {}, "a.csv: there are no rows"),
    "names only": ("a.csv", [HEAD], {}, "a.csv: there are no rows"),
    "twice": ("a.csv", ["text,text,label", "a,b,c"], {}, "a.csv: two columns are called 'text'"),
    "UTF-16": ("a.csv", ["t\0e\0x\0t\0,\0", "a"], {}, "a.csv: holds NUL characters.*--encoding utf-16-le"),
    "problem": ("a.csv", [HEAD, "a,b"], {"problem": "guess"}, "problem='guess': choose one of single_label_class"),
    "encoding": ("a.csv", [HEAD, "a,b"], {"encoding": "klingon"}, "--encoding klingon: no such encoding"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_an_error_always(tmp_path, name):
    file, lines, options, said = BAD_FILES[name]
    for skipped in (None, Skipped()):
        with pytest.raises(InputError, match=said):
            list(read_table(write(tmp_path, file, *lines), **options, skipped=skipped))


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="none.csv: No such file"):
        list(read_table(tmp_path / "none.csv"))


def test_nothing_left(tmp_path):
    path = write(tmp_path, "a.jsonl", "one", "two")
    with pytest.raises(InputError, match="there are no rows that can be used: left out 2 rows; the first: .*line 1"):
        list(read_table(path, skipped=Skipped()))


def test_an_entry_of_a_list_is_left_out(tmp_path):
    path, skipped = (
        write(tmp_path, "a.json", '[{"text": "a", "label": "b"}, 1, {"text": "c", "label": "b"}]'),
        Skipped(),
    )
    assert [one.id for one in read_table(path, skipped=skipped)] == ["1", "3"] and skipped.count == 1


def test_rows_come_one_by_one(tmp_path):
    """What stands behind a broken row is not needed for those before it."""
    rows = read_table(write(tmp_path, "a.jsonl", {"text": "a", "label": "b"}, "{"))
    assert next(rows).text == "a"
    with pytest.raises(InputError):
        next(rows)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(shows)
LABEL = TEXT.map(str.strip)
ROWS = st.lists(st.tuples(TEXT, TEXT, LABEL), min_size=1, max_size=6)


@tries(100)
@given(ROWS)
def test_what_is_written_is_read(tmp_path_factory, rows):
    """Any text at all: quotes, commas, line ends of every kind."""
    place = tmp_path_factory.getbasetemp()
    names = ["text", "pair", "label"]
    for path in (
        write(place, "a.csv", as_csv(names, *map(list, rows)).removesuffix("\r\n")),
        write(place, "a.jsonl", *(dict(zip(names, row, strict=True)) for row in rows)),
    ):
        assert [(one.text, one.pair, one.label) for one in read_table(path)] == rows


PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\r\n"), min_size=1).filter(shows)


@tries(50)
@given(st.lists(st.tuples(PLAIN, PLAIN.map(str.strip)), min_size=1, max_size=6))
def test_tabs_and_lines_keep_every_character(tmp_path_factory, rows):
    place = tmp_path_factory.getbasetemp()
    path = write(place, "a.tsv", "text\tlabel", *(f"{text}\t{label}" for text, label in rows))
    assert [(one.text, one.label) for one in read_table(path)] == rows
    path = write(place, "a.txt", "begin", *(text for text, _ in rows))
    assert [one.text for one in read_table(path, labelled=False)][1:] == [text for text, _ in rows]


@needs_shared
@pytest.mark.parametrize(("name", "counts"), [("snli_dev", (3325, 3231, 3275)), ("mnli_dev", (6998, 6117, 6532))])
def test_real_inference(name, counts):
    examples = list(read_table(SHARED / "nli_dev" / f"{name}.csv"))
    labels = Counter(one.label for one in examples)
    assert tuple(labels[label] for label in ("entailment", "neutral", "contradiction")) == counts
    assert all(one.pair for one in examples)


@needs_shared
@pytest.mark.parametrize("side", ["pos", "neg"])
def test_real_sentences(tmp_path, side):
    path = tmp_path / f"{side}.txt"
    path.write_bytes((SHARED / "sentence_polarity" / f"rt-polarity.{side}").read_bytes())
    assert len(list(read_table(path, labelled=False))) == 5331


SLOW = {  # csv.Sniffer takes minutes for each
    "quotes": "foo,bar\n" + ",'a" * 66_666 + "\n",
    "prose": "id,comment_text\n"
    + ("1, 'I said, 'go', and \"left, 'then' she, 'wept, 'and so on it went; " * 50 + "\n") * 99,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", SLOW)
def test_delimiters_are_found_at_once(tmp_path, name):
    """Whatever is wrong with the rows behind."""
    path = tmp_path / "a.csv"
    path.write_text(SLOW[name])
    with pytest.raises(InputError, match=r"a\.csv"):
        list(read_table(path))


@pytest.mark.parametrize(
    ("content", "cells"),
    [
        ("wert;satz\n3,5;Er kam, sah, ging\n2,5;Ja\n", {"wert": "3,5", "satz": "Er kam, sah, ging"}),
        ("foo|bar\nx, y|z; z\n", {"foo": "x, y", "bar": "z; z"}),
        ('foo,bar\n"a;b;c",d\n"e;f\ng;h",i\n', {"foo": "a;b;c", "bar": "d"}),
        ("foo;bar\na;b\nc;d;e\n", {"foo": "a", "bar": "b"}),
        ("comment\nJust one column; of prose\n", {"comment": "Just one column; of prose"}),
        ("foo,bar\n'tis so,a 'quote\n", {"foo": "'tis so", "bar": "a 'quote"}),
    ],
)
def test_the_delimiter_is_the_one_that_cuts_all_rows_alike(tmp_path, content, cells):
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert next(read_records(path)).values == cells


@pytest.mark.parametrize(
    ("row", "text"), [("{} good soup,good", "{} good soup"), ("gut, aber teuer {};pos", "gut, aber teuer {}")]
)
def test_a_column_by_number_is_found_in_few_rows(tmp_path, row, text):
    path = write(tmp_path, "a.csv", *[row.format(n % 3) for n in range(9)])
    found = [one.text for one in read_table(path, text_column="0", labelled=False)]
    assert found == [text.format(n % 3) for n in range(9)]


def test_a_column_named_twice_in_a_row_of_json(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": "x"}\n{"text": "a", "label": "x", "label": "y"}\n')
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: 'label' is given twice"):
        list(read_table(path))
