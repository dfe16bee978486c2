"""What every chapter has: its place in the course, exercises with checkers and solutions, a way into the explorer."""

import json
import re
from pathlib import Path

import pytest

from app.explore import FIRST, PAGES
from bertlab import course

ROOT = Path(__file__).parents[2]
HOME = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^\| \[\d\d [^]]+\]\((\S+\.ipynb)\) \|", HOME, re.M)
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EXERCISE = re.compile(r"^#+ Exercise (\d+): .+ \((warm-up|easy|medium|hard|stretch), (\d+) minutes\)$", re.M)
TIME = re.compile(r"Time: about (\d+) minutes with the exercises, (\d+) without")
BONUS = re.compile(r"^\*Bonus, about (\d+) minutes: ", re.M)
EXPLORER = re.compile(r"\(http://localhost:8501/(\w*)(?:\?\S*)?\)")

each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


def cells(path: Path, kind: str) -> list[dict]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell | {"source": "".join(cell["source"])} for cell in notebook["cells"] if cell["cell_type"] == kind]


def prose(path: Path) -> str:
    return "\n\n".join(cell["source"] for cell in cells(path, "markdown"))


def is_kept(cell: dict) -> bool:
    return cell["source"].startswith("%%keep\n")


def is_unwritten(cell: dict) -> bool:
    kept = is_kept(cell) and "raise NotImplementedError" in cell["source"]
    return kept or "raises-exception" in cell["metadata"].get("tags", [])


def stubs(path: Path) -> list[dict]:
    """The exercises: those of my_bert.py begin with %%keep, the others call their checker."""
    return [cell for cell in cells(path, "code") if is_unwritten(cell)]


def is_solution(cell: dict) -> bool:
    """Whether it shows a solution, in a folded cell, or in a folded output if it is a part of my_bert.py."""
    folded = cell["metadata"].get("jupyter", {}).get("source_hidden")
    return cell["source"].startswith("%solution ") or bool(folded and "_solution" in cell["source"])


def solutions(path: Path) -> list[dict]:
    return [cell for cell in cells(path, "code") if is_solution(cell)]


def defined(cell: dict) -> list[str]:
    return re.findall(r"^(?:def|class) (\w+)", cell["source"], re.M)


def checked(cell: dict) -> list[tuple[str, str]]:
    """The checkers that a cell calls at its margin, and on what."""
    return re.findall(r"^(check_\w+)\((\w+)", cell["source"], re.M)


def printed(cell: dict) -> str:
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


# Its place in the course


def test_course_home_lists_the_chapters_in_order():
    assert LISTED == [path.name for path in CHAPTERS]


@each_chapter
def test_first_and_last_line_lead_to_the_neighbours(path):
    place = LISTED.index(path.name)
    before, after = LISTED[:place][-1:], LISTED[place + 1 :][:1]
    lines = prose(path).strip().splitlines()
    assert lines[0] == lines[-1]
    assert re.findall(r"\]\(([^)]+)\)", lines[0]) == [*before, "README.md", *after]
    assert [word for word in ("Previous", "Next") if f"[{word}: " in lines[0]] == (
        ["Previous"] * len(before) + ["Next"] * len(after)
    )


@each_chapter
def test_time_and_prerequisites_stand_at_the_top(path):
    top = cells(path, "markdown")[0]["source"]
    assert "You need:" in top
    whole, without = map(int, TIME.search(top).groups())
    exercises = sum(int(minutes) for _, _, minutes in EXERCISE.findall(prose(path)))
    assert abs(whole - without - exercises) < 5, f"the exercises take {exercises} minutes"
    assert len(re.findall(r"^# ", prose(path), re.M)) == 1


@each_chapter
def test_course_home_gives_the_times_of_the_chapter(path):
    top = cells(path, "markdown")[0]["source"]
    whole, without = map(int, TIME.search(top).groups())
    core = core_minutes(path)
    (row,) = (line for line in HOME.splitlines() if line.startswith("|") and path.name in line)
    note = "; bonus" if not core else f"; core {core}" if core < whole else ""
    assert row.split("|")[3].strip() == f"{whole} minutes, {without}{note}"
    assert (f"{without} without; {core} for the core" in top) == (0 < core < whole)


def core_minutes(path: Path) -> int:
    """The minutes of a chapter without its bonus parts, 0 for a bonus chapter."""
    top = cells(path, "markdown")[0]["source"]
    whole = int(TIME.search(top).group(1))
    return 0 if "*A bonus chapter. " in top else whole - sum(map(int, BONUS.findall(prose(path))))


def test_the_core_takes_22_hours():
    assert round(sum(map(core_minutes, CHAPTERS)) / 60) == 22
    assert "The core** takes about 22 hours" in HOME


def test_the_tour_shows_the_way_as_the_course_home_does():
    rows = re.findall(r"^\| \[\d\d .*", HOME, re.M)
    assert re.findall(r"^\| \[\d\d .*", prose(CHAPTERS[0]), re.M) == rows


@each_chapter
def test_links_of_the_prose_lead_to_files(path):
    local = [link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose(path)) if "://" not in link]
    assert [link for link in local if not (path.parent / link).exists()] == []


# Exercises


@each_chapter
def test_four_exercises_from_a_warm_up_to_a_stretch(path):
    found = EXERCISE.findall(prose(path))
    assert len(found) >= 4
    assert [int(number) for number, _, _ in found] == list(range(1, len(found) + 1))
    assert [number for number in re.findall(r"^#+ Exercise (\d+)", prose(path), re.M)] == [n for n, _, _ in found]
    levels = [level for _, level, _ in found]
    assert levels[0] == "warm-up" and "stretch" in levels
    assert all(1 <= int(minutes) <= 30 for _, _, minutes in found)


@each_chapter
def test_every_exercise_has_a_stub_that_is_not_yet_begun(path):
    assert len(stubs(path)) == len(EXERCISE.findall(prose(path)))
    for cell in stubs(path):
        assert "raise NotImplementedError" in cell["source"] and '"""' in cell["source"]
        if is_kept(cell):
            assert printed(cell) == "Not yet: write your code in place of `raise NotImplementedError`.\n"
            continue
        assert checked(cell), cell["source"]
        (error,) = (output for output in cell["outputs"] if output["output_type"] == "error")
        assert error["ename"] == "Mistake" and "write your code" in error["evalue"]


@each_chapter
def test_every_exercise_has_a_folded_solution_that_its_checker_passed(path):
    assert len(solutions(path)) == len(stubs(path))
    for stub, solution in zip(stubs(path), solutions(path), strict=True):
        if is_kept(stub):
            first, second = solution["source"].splitlines()[:2]
            assert first.split() == ["%solution", *defined(stub)] and second.split() == ["%my_bert", *defined(stub)]
            assert "from the solutions" in printed(solution)
            continue
        assert [check for check, _ in checked(solution)] == [check for check, _ in checked(stub)]
        assert all(name.endswith("_solution") for _, name in checked(solution))
        assert "Right" in printed(solution)


@each_chapter
def test_checkers_are_those_of_the_course(path):
    used = {check for cell in stubs(path) for check, _ in checked(cell)}
    assert used <= set(course.__all__)


# What else a chapter has


@each_chapter
def test_the_explorer_is_shown_at_a_page_that_there_is(path):
    pages = PAGES.keys() - {FIRST} | {""}  # the first page stands at the bare address
    named = EXPLORER.findall(prose(path))
    assert named and set(named) <= pages
    assert "make explore" in prose(path)


@each_chapter
def test_outputs_are_compared_but_for_a_fifth_at_most(path):
    code = cells(path, "code")
    ignored = [cell for cell in code if "nbval-ignore-output" in cell["metadata"].get("tags", [])]
    assert len(ignored) <= len(code) / 5


@each_chapter
def test_a_panel_has_something_to_show_without_a_kernel(path):
    outputs = [output.get("data", {}) for cell in cells(path, "code") for output in cell["outputs"]]
    panels = [data for data in outputs if "application/vnd.jupyter.widget-view+json" in data]
    assert panels and all("text/html" in data for data in panels)
    assert any("image/png" in data for data in outputs)


@each_chapter
def test_a_chapter_ends_with_what_to_take_along_and_where_to_look(path):
    titles = re.findall(r"^## (.+)$", prose(path), re.M)
    assert titles[-2:] == ["What to take along", "Where to look"]
    assert "in the paper" in prose(path) and "in the code" in prose(path)


@each_chapter
def test_no_line_ends_with_a_semicolon(path):
    assert [cell["source"] for cell in cells(path, "code") if re.search(r";\s*$", cell["source"], re.M)] == []
