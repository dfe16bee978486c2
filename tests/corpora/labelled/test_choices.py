"""Texts that can go on in several ways, from tables."""

import json
from pathlib import Path

import pytest

from bertlab.corpora.examples import ChoiceExample
from bertlab.corpora.labelled.columns import Columns
from bertlab.corpora.labelled.tabular import ReadOptions
from bertlab.corpora.reading import Skipped
from bertlab.errors import InputError
from bertlab.tasks.choice import ChoiceTask

SWAG = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label"


def write(place: Path, name: str, *lines: str | dict) -> Path:
    path = place / name
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def read_choices(path: Path, **options) -> list[ChoiceExample]:
    return list(ChoiceTask.read_file(path, ReadOptions(**options)))


def test_swag(tmp_path):
    path = write(tmp_path, "val.csv", SWAG, '0,v,1,"A man, he",A man,he,gold,sits.,runs.,"eats, too.",flies.,2')
    assert read_choices(path) == [ChoiceExample("2", "A man, he", ("sits.", "runs.", "eats, too.", "flies."), 2)]


@pytest.mark.parametrize(("label", "number"), [(1, 1), ("1", 1), ("runs", 1), (" sits ", 0), ("7", 2), (0, 0), (2, 2)])
def test_lists_of_choices(tmp_path, label, number):
    path = write(tmp_path, "a.jsonl", {"text": "He", "choices": ["sits", "runs ", "7"], "label": label, "id": 5})
    assert read_choices(path) == [ChoiceExample("5", "He", ("sits", "runs ", "7"), number)]


def test_a_number_is_no_text(tmp_path):
    for label in (1, 1.0):
        path = write(tmp_path, "a.jsonl", {"text": "1 + 1 =", "choices": ["1", "2"], "label": label})
        assert [one.label for one in read_choices(path)] == [1]


def test_choices_without_labels_and_by_own_names(tmp_path):
    path = write(tmp_path, "a.csv", "ctx,b,a,choice10,choice9", "He,sits,runs,x,sits")
    assert read_choices(path, labelled=False) == [ChoiceExample("2", "He", ("sits", "x"))]
    (own,) = read_choices(path, columns=Columns("ctx", None, "choice9", ("a", "b")))
    assert own == ChoiceExample("2", "He", ("runs", "sits"), 1)


GOOD = {"text": "He", "choices": ["sits", "runs"], "label": 0}
BAD_CHOICES = {
    "another number": ({"choices": ["sits", "runs", "flies"]}, "line 2: 3 choices, but the first row has 2"),
    "one": ({"choices": ["sits"]}, "line 2: choices: no list of two or more"),
    "no list": ({"choices": "sits"}, "line 2: choices: no list of two or more"),
    "empty": ({"choices": ["sits", ""]}, "line 2: choice 1 is empty"),
    "no text": ({"choices": ["sits", None]}, "line 2: choice 1 holds no text but None"),
    "out of range": ({"label": 2}, "line 2: 'label' holds 2: of the 2 choices, that is neither 0 ... 1 nor the text"),
    "unknown": ({"label": "flies"}, "holds 'flies': .* neither"),
    "none": ({"label": None}, "holds None: .* neither"),
    "two meanings": ({"choices": ["1", "2"], "label": "1"}, "holds '1': of the 2 choices, that could be several"),
    "no text to begin": ({"text": ""}, "line 2: 'text' is empty"),
}


@pytest.mark.parametrize("name", BAD_CHOICES)
def test_bad_choices(tmp_path, name):
    changes, said = BAD_CHOICES[name]
    path = write(tmp_path, "a.jsonl", GOOD, GOOD | changes, GOOD)
    with pytest.raises(InputError, match=f"a.jsonl, {said}|a.jsonl, line 2.*{said}"):
        read_choices(path)
    skipped = Skipped()
    assert [one.id for one in read_choices(path, skipped=skipped)] == ["1", "3"]
    assert skipped.count == 1


def test_no_choices(tmp_path):
    with pytest.raises(InputError, match="a.csv: there is no column 'choices', only text, label"):
        read_choices(write(tmp_path, "a.csv", "text,label", "a,b"))
