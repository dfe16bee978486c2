"""The mark sheet says of each exercise what its saved output says, and runs nothing."""

import json
import shutil
from pathlib import Path

import pytest

from bertlab.cli.main import main
from bertlab.course.marks import read_marks
from bertlab.errors import InputError

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
WRITTEN = "def f(x):\n    return x\n\n\ncheck(f)"


def cell(kind: str, source: str, *outputs: dict) -> dict:
    return {"cell_type": kind, "source": source.splitlines(True), "outputs": list(outputs)}


def printed(text: str) -> dict:
    return {"output_type": "stream", "text": text.splitlines(True)}


def failed(name: str, text: str) -> dict:
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": []}


STATES = {
    "passed": (WRITTEN, [printed("Right: it fits.\n")], ""),
    "not begun": ("%%keep\ndef f(x):\n    raise NotImplementedError", [printed("Not yet: write your code")], ""),
    "not run": (WRITTEN, [], ""),
    "not yet": (WRITTEN, [failed("Mistake", "mind the sign")], "Not yet: mind the sign"),
}


@pytest.mark.parametrize("state", STATES)
def test_the_state_of_an_exercise_is_that_of_its_output(tmp_path, state):
    source, outputs, remark = STATES[state]
    top = cell("markdown", "# Title\n*Time: about 60 minutes with the exercises, 20 without.*")
    heading = cell("markdown", "### Exercise 1: the thing (easy, 10 minutes)")
    cells = [top, heading, cell("code", source, *outputs), cell("code", "f_solution = 1", printed("Right\n"))]
    (tmp_path / "01_x.ipynb").write_text(json.dumps({"cells": cells}))
    (chapter,) = read_marks(tmp_path)
    (exercise,) = chapter.exercises
    assert (chapter.title, chapter.minutes) == ("Title", (60, 20))
    assert (exercise.title, exercise.level, exercise.minutes) == ("the thing", "easy", 10)
    assert (exercise.state, exercise.remark) == (state, remark)


def test_an_error_of_the_readers_code_is_named(tmp_path):
    heading = cell("markdown", "### Exercise 1: the thing (easy, 10 minutes)")
    cells = [heading, cell("code", WRITTEN, failed("NameError", "name 'y' is not defined"))]
    (tmp_path / "01_x.ipynb").write_text(json.dumps({"cells": cells}))
    assert read_marks(tmp_path)[0].exercises[0].remark == "NameError: name 'y' is not defined"


def test_in_the_chapters_as_they_come_nothing_is_begun(capsys):
    chapters = read_marks(NOTEBOOKS)
    assert len(chapters) == len(list(NOTEBOOKS.glob("*.ipynb")))
    assert all(len(chapter.exercises) >= 4 and min(chapter.minutes) > 0 for chapter in chapters)
    assert {exercise.state for chapter in chapters for exercise in chapter.exercises} == {"not begun"}
    main(["course", "marks", str(NOTEBOOKS)])
    assert "0 of " in capsys.readouterr().out


def test_what_is_no_notebook_is_one_line(tmp_path):
    with pytest.raises(InputError, match="no chapters here"):
        read_marks(tmp_path)
    shutil.copy(NOTEBOOKS / "README.md", tmp_path / "01_x.ipynb")
    with pytest.raises(InputError, match=r"01_x\.ipynb: no notebook"):
        read_marks(tmp_path)
