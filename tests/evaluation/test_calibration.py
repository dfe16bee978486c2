"""The share of wrong predictions among those that are as sure."""

import json

import pytest

from bertlab.evaluation.calibration import CALIBRATION, Bin, as_json, bins, rows, when_as_sure
from bertlab.tasks.base import Compared


def compared(probability: float | None, right: bool) -> Compared:
    return Compared("1", "a text", "yes" if right else "no", "yes", 0.0, probability)


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


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"bins": 1}', '{"bins": [1]}', '{"bins": [{"low": 0}]}', "bins", "impossible"]
)
def test_a_damaged_file_tells_nothing(content, tmp_path):
    if content == "impossible":
        content = json.dumps({"bins": [{"low": 0.5, "high": 0.6, "count": 99, "right": 100}]})
    (tmp_path / CALIBRATION).write_text(content)
    assert when_as_sure(tmp_path, 0.55) is None
    assert when_as_sure(tmp_path / "nowhere", 0.55) is None
