"""A class's notebooks are run again: right answers pass, saved outputs count for nothing, and no secret goes along."""

import csv
import json
import re
from pathlib import Path

import pytest

from bertlab.cli.course import Grade
from bertlab.cli.main import main
from bertlab.course import grading
from bertlab.course.grading import Limits, Mark, grade_class, hand_ins
from bertlab.course.keep import solutions
from bertlab.course.marks import EXERCISE, UNWRITTEN
from bertlab.errors import InputError

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CHECK = "\n\nassert double(2) == 4, 'twice two is four'\nprint('Right')"
STUB = f"def double(x):\n    raise NotImplementedError\n{CHECK}"
ENDLESS = "def double(x):\n    while True:\n        pass\n"
# What an answer does, and what its line says.
ANSWERS = {
    f"def double(x):\n    return 2 * x\n{CHECK}": "Right",
    STUB: "not begun",
    f"def double(x):\n    return x\n{CHECK}": "AssertionError: twice two is four",
    f"{ENDLESS}{CHECK}": "stopped after 3 seconds",
    f"def double(x:\n{CHECK}": "SyntaxError",
    f"raise ValueError('=1+1\\n\\x1b[31mred')\n{CHECK}": "ValueError: =1+1",
    "import os\nassert 'TOKEN' not in os.environ, os.environ\nprint('Right')": "Right",
    "import os\nassert os.path.expanduser('~') == os.getcwd()\nprint('Right')": "Right",
    f"import os\nos._exit(0)\n{CHECK}": "not run: its process ended",
    f"def double(x):\n    return x + x\n{CHECK}": "not run: its process ended",
}


def notebook(answers) -> str:
    """A chapter with the same exercise many times and these cells for answers, whose outputs say that all is right."""
    said = [{"output_type": "stream", "name": "stdout", "text": ["Right: forged\n"]}]
    cells = [{"cell_type": "markdown", "source": "# Twice", "metadata": {}}]
    for number, answer in enumerate(answers, 1):
        heading = f"### Exercise {number}: double (easy, 5 minutes)"
        cells += [
            {"cell_type": "markdown", "source": heading, "metadata": {}},
            {"cell_type": "code", "source": answer, "outputs": said, "metadata": {}, "execution_count": 1},
        ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


@pytest.fixture
def chapters(tmp_path) -> Path:
    folder = tmp_path / "chapters"
    folder.mkdir()
    (folder / "05_twice.ipynb").write_text(notebook([STUB] * len(ANSWERS)))
    return folder


def test_each_answer_gets_its_line(chapters, tmp_path, monkeypatch):
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setattr("bertlab.cli.course.folder_of", lambda name: chapters)
    for name in ("ada", "nobody", "=other"):
        (tmp_path / "class" / name).mkdir(parents=True)
    (tmp_path / "class" / "ada" / "my copy.ipynb").write_text(notebook(ANSWERS))
    (tmp_path / "class" / "=other" / "essay.ipynb").write_text(notebook([]).replace("Twice", "An essay"))
    Grade(tmp_path / "class", tmp_path / "marks.csv", seconds=3, unprotected=True).run()
    with open(tmp_path / "marks.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    mine = [row for row in rows if row["learner"] == "ada"]
    for number, (row, message) in enumerate(zip(mine, ANSWERS.values(), strict=True), 1):
        assert (row["chapter"], row["exercise"], row["level"]) == ("05_twice", f"{number} double", "easy")
        assert row["message"].startswith(message) and row["passed"] == ("yes" if message == "Right" else "no"), row
    others = {row["learner"]: row["message"] for row in rows if row["learner"] != "ada"}
    assert others["nobody"] == "no notebook in the folder"
    assert others["'=other"].startswith("no chapter of the course")  # a spreadsheet takes no name for a formula


def test_a_notebook_has_its_time_and_an_exercise_that_is_gone_is_named(chapters, tmp_path):
    path = tmp_path / "05_twice.ipynb"
    path.write_text(notebook([f"{ENDLESS}{CHECK}", f"{ENDLESS}{CHECK}# once more"]))
    (marks,) = grade_class([("ada", path)], chapters, Limits(seconds=600, notebook_seconds=4))
    assert [mark.message for mark in marks[:2]] == ["not run: the 4 seconds for the notebook were over"] * 2
    assert {mark.message for mark in marks[2:]} == {"its heading, or the cell below it, is gone"}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cells": 3}', '{"cells": [], "nbformat": 4}'])
def test_what_is_no_notebook_has_a_line(content, chapters, tmp_path):
    path = tmp_path / "05_twice.ipynb"
    path.write_text(content)
    ((mark,),) = grade_class([("ada", path)], chapters, Limits())
    assert not mark.passed and mark.message.startswith("no ")
    path.unlink()
    path.symlink_to(chapters / "05_twice.ipynb")
    ((mark,),) = grade_class([("ada", path)], chapters, Limits())
    assert mark.message == "a link, and no notebook"


def solved(path: Path) -> str:
    """A chapter whose exercises hold its own solutions."""
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        cell["source"] = "".join(cell["source"])
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code):
        if UNWRITTEN not in cell["source"]:
            continue
        if cell["source"].startswith("%%keep\n"):
            names = re.findall(r"^(?:class|def) (\w+)", cell["source"], re.M)
            own = [f"{solutions()[name].rstrip()}  # my own\n" for name in names]
            cell["source"] = "%%keep\nfrom torch import nn\n\n\n" + "\n\n".join(own)
            continue
        later = [other["source"] for other in code[number:]]
        name, solution = next(
            (name, text)
            for name in re.findall(r"^def (\w+)\(", cell["source"], re.M)
            for text in later
            if f"def {name}_solution(" in text
        )
        given = cell["source"].partition(f"def {name}(")[0]
        if UNWRITTEN in given:  # a class that the solution has under another name
            given = given.partition("\n\n\nclass ")[0] + "\n\n\n"
        check = "\n".join(re.findall(r"^(?:check_|.* = check_).*", cell["source"], re.M))
        cell["source"] = f"{given}{solution.replace('_solution', '')}\n\n{check}"
    return json.dumps(book)


@pytest.mark.nightly
@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_solutions_of_a_chapter_pass(path, tmp_path):
    (tmp_path / path.name).write_text(solved(path))
    (marks,) = grade_class([("ada", tmp_path / path.name)], NOTEBOOKS, Limits(300, 3000))
    assert len(marks) == len(EXERCISE.findall("\n".join(prose(path)))) >= 4
    assert [(mark.exercise, mark.message) for mark in marks if not mark.passed] == []


def prose(path: Path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def test_a_row_is_text_to_a_terminal_and_a_spreadsheet():
    assert Mark("@you", message="=1\x1b[2J", passed=True).row() == ["'@you", "", "", "", "yes", "'=1\\x1b[2J"]


def test_a_class_is_a_folder_of_folders_or_notebooks(tmp_path):
    with pytest.raises(InputError, match="no folder"):
        hand_ins(tmp_path / "none", NOTEBOOKS)
    with pytest.raises(InputError, match="holds no folders and no notebooks"):
        hand_ins(tmp_path, NOTEBOOKS)
    (tmp_path / "ada" / ".ipynb_checkpoints").mkdir(parents=True)
    for name in ("ada/04.ipynb", "ada/.ipynb_checkpoints/04.ipynb", "bob.ipynb"):
        (tmp_path / name).write_text("{}")
    assert [name for name, _ in hand_ins(tmp_path, NOTEBOOKS)] == ["ada", "bob"]
    (tmp_path / "04_attention.ipynb").write_text("{}")
    with pytest.raises(InputError, match="give the folder above"):
        hand_ins(tmp_path, NOTEBOOKS)


def test_outside_a_container_nothing_is_run_unless_one_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(grading, "CONTAINERS", (str(tmp_path / "mark"),))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    (tmp_path / "the class" / "ada").mkdir(parents=True)
    arguments = ["course", "grade", str(tmp_path / "the class"), "--out", str(tmp_path / "marks.csv")]
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "docker run --rm --network none" in line
    assert f"-v '{tmp_path}/the class:/class:ro' -v {tmp_path}/marks:/out bertlab" in line  # not the folder above
    assert not (tmp_path / "marks.csv").exists()
    main([*arguments, "--unprotected"])
    assert "no notebook in the folder" in (tmp_path / "marks.csv").read_text()
    (tmp_path / "mark").touch()
    main(arguments)
