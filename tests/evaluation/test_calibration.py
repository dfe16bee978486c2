"""The share of wrong predictions among those that are as sure."""

import json

import pytest

from bertlab.evaluation.calibration import CALIBRATION, LONG, SHORT, WORDS, Bin, as_json, bins, rows, when_as_sure
from bertlab.tasks.base import Compared


def compared(probability: float | None, right: bool, text: str = "a text") -> Compared:
    return Compared("1", text, "yes" if right else "no", "yes", 0.0, probability)


def test_predictions_are_counted_by_how_sure_they_are():
    found = bins([compared(0.55, True), compared(0.55, False), compared(1.0, True), compared(0.3, False)])
    assert found == [Bin(0.0, 0.5, 1, 0), Bin(0.5, 0.6, 2, 1), Bin(0.99, 1.0, 1, 1)]
    assert rows(found)[1] == ["50 to 60%", "2", "50%"]
    assert bins([compared(None, True)]) == []


@pytest.mark.parametrize(("count", "known"), [(29, False), (30, True)])
def test_few_examples_tell_nothing(count, known, tmp_path):
    (tmp_path / CALIBRATION).write_text(as_json(bins([compared(0.96, n % 3 > 0) for n in range(count)])))
    found = when_as_sure(tmp_path, 0.951)
    assert (found is not None) == known and when_as_sure(tmp_path, 0.5) is None
    assert found is None or (found.wrong, found.between) == (pytest.approx(1 / 3), "95 to 99%")


def test_short_and_long_texts_are_told_apart(tmp_path):
    short, long = "word " * WORDS, "word " * (WORDS + 1)
    examples = [compared(0.97, n % 3 > 0, short) for n in range(30)] + [compared(0.97, True, long) for _ in range(60)]
    found = bins([*examples, compared(0.7, True, short)])
    assert [(one.length, one.count) for one in found] == [("", 1), ("", 90), (SHORT, 1), (SHORT, 30), (LONG, 60)]
    assert rows(found)[-1] == [f"95 to 99%, texts of {LONG}", "60", "0%"]
    (tmp_path / CALIBRATION).write_text(as_json(found))
    told = {text: when_as_sure(tmp_path, 0.98, text) for text in (short, long)}
    assert told[short].wrong == pytest.approx(1 / 3) and told[long].wrong == 0
    assert when_as_sure(tmp_path, 0.75, short) is None  # too few of any length


def test_too_few_texts_of_a_length_count_with_all(tmp_path):
    examples = [compared(0.97, True, "a text") for _ in range(29)] + [compared(0.97, False, "word " * 99)]
    (tmp_path / CALIBRATION).write_text(as_json(bins(examples)))
    alike = when_as_sure(tmp_path, 0.97, "a text")
    assert (alike.count, alike.length) == (30, "")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"bins": 1}', '{"bins": [1]}', '{"bins": [{"low": 0}]}', "bins", "impossible"]
)
def test_a_damaged_file_tells_nothing(content, tmp_path):
    if content == "impossible":
        content = json.dumps({"bins": [{"low": 0.5, "high": 0.6, "count": 99, "right": 100}]})
    (tmp_path / CALIBRATION).write_text(content)
    assert when_as_sure(tmp_path, 0.55) is None
    assert when_as_sure(tmp_path / "nowhere", 0.55) is None
