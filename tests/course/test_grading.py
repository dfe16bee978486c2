"""A class's notebooks are run again: right answers pass, forged ones do not, and what harms others harms nobody."""

import ast
import csv
import json
import time
from pathlib import Path

import pytest

from bertlab.cli.course import Grade
from bertlab.cli.main import main
from bertlab.course.grading import sandbox
from bertlab.course.grading.class_marks import Mark, grade_class, hand_ins
from bertlab.course.grading.exercises import asked, read_cells, shape
from bertlab.course.grading.process import Limits, _Watch
from bertlab.course.grading.slicing import needed, statements
from bertlab.course.keep import solutions
from bertlab.errors import InputError

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
closed = pytest.mark.skipif(bool(sandbox.missing()), reason="this system has no sandbox")

STUB = "from bertlab.course import check_gelu\n\n\ndef gelu(x):\n    raise NotImplementedError\n\n\ncheck_gelu(gelu)"
RIGHT = "def gelu(x):\n    return x * (1 + torch.erf(x / 2**0.5)) / 2\n"
FORGED = """import torch
import bertlab.course.checks.part_one.encoder as checks
torch.allclose = checks.expect = checks.close = lambda *a: True


def check_gelu(fn):
    print("Right: trust me")


check_gelu(gelu)
"""
PATCH = """import torch.nn.functional as F
def gelu(x):
    F.gelu = lambda x, approximate=0: x * (2 + bool(approximate))
"""
OUTSIDE = "PermissionError: [Errno 13] Permission denied"
REFUSED = "PermissionError: [Errno 1] Operation not permitted"
# What an answer does, and what its line says.
ANSWERS = {
    "def gelu(x):\n    raise NotImplementedError\n": "not begun",
    RIGHT: "Right",
    f"{PATCH}    return 2 * x\n": "not counted: it replaces torch.nn.functional.gelu",
    f"{FORGED}\ndef gelu(x):\n    return x\n": "Not yet",
    "def gelu(x):\n    print('y' * 10**8)\n    return x\n": "Not yet",
    "import os\ndef gelu(x):\n    while True: os.write(1, b'y' * 10**6) and os.fork()\n": REFUSED,
    "def gelu(x):\n    x = []\n    while True: x.append(bytes(10**7))\n": "out of memory",
    "def gelu(x):\n    raise ValueError('=1+1\\n\\x1b[31mred')\n": "Not yet: your code stopped on",
    "import os\ndef gelu(x):\n    os._exit(0)\n": "ended its own process with exit code 0",
    "import ctypes\ndef gelu(x):\n    ctypes.string_at(0)\n": "ended by signal SIGSEGV",
    "import os\ndef gelu(x):\n    os.kill(os.getppid(), 9)\n": REFUSED,
    "def gelu(x):\n    open('PRECIOUS', 'a').write('y')\n": OUTSIDE,
    "import os\ndef gelu(x):\n    os.remove('PRECIOUS')\n": OUTSIDE,
    "import os\ndef gelu(x):\n    os.chmod('PRECIOUS', 0)\n": REFUSED,
    "def gelu(x):\n    open('PRECIOUS').read()\n": OUTSIDE,
    "import socket\ndef gelu(x):\n    socket.create_connection(('127.0.0.1', 9))\n": REFUSED,
    "def gelu(x):\n    for n in range(10**6): open(f'{n}', 'wb').write(bytes(10**7))\n": "stopped: its files",
    "import sys\ndef gelu(x):\n    sys.exit('bye')\n": "SystemExit: bye",
    "def gelu(x:\n": "SyntaxError",
}


ENDLESS = "def gelu(x):\n    while True: pass\n"


def notebook(answers) -> str:
    """A chapter with the same exercise many times and these cells for answers, which say that all is right."""
    said = [{"output_type": "stream", "name": "stdout", "text": ["Right: forged\n"]}]
    cells = [("markdown", "# GELU"), ("code", "import torch\nslow = [torch for _ in iter(int, 1)]  # has no end")]
    for number, answer in enumerate(answers, 1):
        cells += [("markdown", f"### Exercise {number}: GELU (easy, 5 minutes)"), ("code", answer)]
    return json.dumps({"cells": [{"cell_type": kind, "source": text, "outputs": said} for kind, text in cells]})


def graded(folder: Path, exercises: int, seconds: int) -> list[dict[str, str]]:
    """The rows of a class whose notebooks are in `hand_in`, in a course of one chapter with so many exercises."""
    chapters = folder / "chapters"
    chapters.mkdir()
    (chapters / "05_gelu.ipynb").write_text(notebook([STUB] * exercises))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bertlab.cli.course.folder_of", lambda name: chapters)
        Grade(folder / "hand_in", folder / "marks.csv", seconds=seconds, memory=512).run()
    with open(folder / "marks.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """The rows of a class of one hostile learner, one who handed in nothing, and one with something else."""
    folder = tmp_path_factory.mktemp("class")
    precious, hand_in = folder / "precious", folder / "hand_in"
    precious.write_text("mine")
    for name in ("mallory", "nobody", "=other"):
        (hand_in / name).mkdir(parents=True)
    first = STUB.replace("\n\n\ncheck_gelu(gelu)", "\n")
    answers = [STUB if text in first else text.replace("PRECIOUS", str(precious)) for text in ANSWERS]
    (hand_in / "mallory" / "my copy.ipynb").write_text(notebook(answers))
    (hand_in / "=other" / "essay.ipynb").write_text('{"cells": []}')
    rows = graded(folder, len(answers), seconds=20)
    assert precious.read_text() == "mine" and precious.stat().st_mode & 0o600 == 0o600
    return rows


@closed
@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_a_submission_gets_its_line_and_harms_nobody(marked, number):
    row = [row for row in marked if row["learner"] == "mallory"][number]
    message = list(ANSWERS.values())[number]
    assert (row["chapter"], row["exercise"], row["level"]) == ("05_gelu", f"{number + 1} GELU", "easy")
    assert row["message"].startswith(message) and row["passed"] == ("yes" if message == "Right" else "no"), row


@closed
@pytest.mark.slow
def test_an_answer_without_an_end_is_stopped_and_the_next_one_run(tmp_path):
    """No other answer is asked here: a busy machine may need more than two seconds for one."""
    (tmp_path / "hand_in" / "sisyphus").mkdir(parents=True)
    (tmp_path / "hand_in" / "sisyphus" / "05_gelu.ipynb").write_text(notebook([ENDLESS, f"{ENDLESS}# once more\n"]))
    rows = graded(tmp_path, 2, seconds=2)
    assert [(row["passed"], row["message"]) for row in rows] == [("no", "stopped after 2 seconds")] * 2


@closed
@pytest.mark.slow
def test_who_hands_in_nothing_or_something_else_has_a_line(marked):
    others = {row["learner"]: row["message"] for row in marked if row["learner"] != "mallory"}
    assert others["nobody"] == "no notebook in the folder"
    assert others["'=other"].startswith("no chapter of the course")  # a spreadsheet takes no name for a formula


def solved(path: Path) -> str:
    """A chapter whose exercises hold its own solutions."""
    book = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    exercises = {each.source: each for each in asked(read_cells(path.read_bytes()))}
    for number, cell in enumerate(cells):
        each = exercises.get("".join(cell["source"]))
        if each and each.checks:
            mark = f"{each.names[0]}_solution"
            solution = next(text for text in ("".join(other["source"]) for other in cells[number:]) if mark in text)
            given = each.source.partition(f"def {each.names[0]}(")[0]
            cell["source"] = given + solution.replace("_solution", "")
        elif each:
            cell["source"] = "%%keep\n" + "\n\n".join(solutions()[name] for name in each.names)
    return json.dumps(book)


@closed
@pytest.mark.nightly
@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_solutions_of_a_chapter_pass(path, tmp_path):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / path.name).write_text(solved(path))
    Grade(tmp_path, tmp_path / "marks.csv", seconds=300, notebook_seconds=500).run()
    with open(tmp_path / "marks.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 4 and [row for row in rows if row["passed"] != "yes"] == []
    assert {row["message"] for row in rows} == {"Right, and it is the solution of the course"}


@pytest.mark.slow
def test_what_the_course_prepares_may_take_long_on_a_busy_machine(tmp_path, monkeypatch):
    chapters, path = tmp_path / "chapters", tmp_path / "05_gelu.ipynb"
    chapters.mkdir()
    (chapters / path.name).write_text(notebook([STUB]))
    path.write_text(notebook([RIGHT]))
    clock, run, late = time.monotonic, _Watch.until_its_end, []
    monkeypatch.setattr(_Watch, "until_its_end", lambda *given: late.append(1000) or run(*given))
    monkeypatch.setattr(time, "monotonic", lambda: clock() + sum(late))  # the worker has just been started
    ((mark,),) = grade_class([("ada", path)], chapters, Limits(), closed=False)
    assert late and mark.exercise == "1 GELU" and mark.passed, mark.message


def test_a_copied_solution_is_known_under_the_names_of_the_learner():
    course, copied, own = (
        shape(ast.parse(text).body[0])
        for text in (
            "def count_solution(config):\n    return sum(parts_solution(config).values())",
            "def count(config):\n    # mine\n    return sum(parts(config).values())",
            "def count(config):\n    return sum(parts(config))",
        )
    )
    assert course == copied != own


def test_only_what_an_answer_needs_is_run():
    cells = """import math
width = math.inf
width = 3
slow = train(width)
def unused(): return slow
%my_bert Layer
def f(width_of, model=Layer): return helper(width_of) + width
def helper(x): return x
f.cache = {}
"""
    chosen = [ast.unparse(node).splitlines()[0] for node in needed(statements(cells), ["f"])]
    assert chosen[:2] == ["width = 3", "from my_bert import Layer"]
    assert [line[:8] for line in chosen[2:]] == ["def f(wi", "def help", "f.cache "]


def test_each_chapter_says_what_its_exercises_define():
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        for exercise in asked(read_cells(path.read_bytes())):
            assert exercise.names and (exercise.checks or exercise.source.startswith("%%keep")), (
                path.stem,
                exercise.title,
            )


def test_a_row_is_text_to_a_terminal_and_a_spreadsheet():
    assert Mark("@you", message="=1\x1b[2J", passed=True, seconds=1.23).row() == [
        "'@you", "", "", "", "yes", "'=1\\x1b[2J", "1.2"
    ]  # fmt: skip


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


def test_without_a_sandbox_nothing_is_run_unless_one_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sandbox, "missing", lambda: ["Landlock"])
    (tmp_path / "ada").mkdir()
    with pytest.raises(SystemExit, match="2"):
        main(["course", "grade", str(tmp_path), "--out", str(tmp_path / "marks.csv")])
    assert "no sandbox here, for want of Landlock" in capsys.readouterr().err
    assert not (tmp_path / "marks.csv").exists()
    main(["course", "grade", str(tmp_path), "--out", str(tmp_path / "marks.csv"), "--unprotected"])
    assert "no notebook in the folder" in (tmp_path / "marks.csv").read_text()
