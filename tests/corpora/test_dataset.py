"""Data sets of the hub, by folders that hold the same files."""

import json
import sys
from pathlib import Path

import pytest

from bertlab import InputError
from bertlab.corpora.labelled.hub_datasets import read_dataset

ROWS = [{"text": "One. Two.", "title": "a"}, {"text": "", "title": "b"}, {"text": "Three.", "title": "c"}]


def folder(place: Path, *lines: str) -> str:
    (place / "rows.jsonl").write_text("".join(line + "\n" for line in lines))
    return str(place)


@pytest.fixture
def rows(tmp_path) -> str:
    return folder(tmp_path, *map(json.dumps, ROWS))


def test_json_lines(rows):
    assert list(read_dataset(rows)) == ["One. Two.", "", "Three."]
    assert list(read_dataset(rows, "title")) == ["a", "b", "c"]


def test_parquet(tmp_path):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    assert list(read_dataset(str(tmp_path))) == ["One. Two.", "", "Three."]


def test_rows_come_one_by_one(monkeypatch, tmp_path):
    """What stands behind a broken row is not needed for those before it."""
    import datasets

    asked = []

    def load_dataset(*address, **options):
        asked.append((address, options))
        yield {"text": "first"}
        raise ConnectionError("the network\nwent away.")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    texts = read_dataset("org/name/20231101.en")
    assert next(texts) == "first"
    assert asked == [(("org/name", "20231101.en"), {"split": "train", "streaming": True})]
    with pytest.raises(InputError, match=r"^org/name/20231101.en: cannot be read after row 1 \(the network\); .*"):
        next(texts)


MISTAKES = {
    "no column": (['{"title": "a"}'], "row 1: there is no column 'text'; choose one of title"),
    "no text": (['{"text": "a"}', '{"text": null}'], "row 2: 'text' holds no text but None"),
    "numbers": (['{"text": 1}'], "row 1: 'text' holds no text but 1"),
    "broken": (['{"text": "a"}', '{"text: '], "cannot be read after row 0"),
    "empty": ([], "cannot be read"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_bad_lines_are_one_clear_line(name, tmp_path):
    lines, said = MISTAKES[name]
    with pytest.raises(InputError, match=said) as error:
        list(read_dataset(folder(tmp_path, *lines)))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["org/no-such-name", "no-such-folder", "/no/such/folder"])
def test_offline_and_unknown(name):
    with pytest.raises(InputError, match=f"{name}: cannot be read after row 0 .* network"):
        list(read_dataset(name))


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match="pip install datasets"):
        list(read_dataset("org/name"))
