"""The mark sheet: which exercises of the chapters pass, read from the saved notebooks without running them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bertlab.errors import InputError
from bertlab.io.json_files import read_json

EXERCISE = re.compile(r"^#+ Exercise (\d+): (.+) \((\w[\w-]*), (\d+) minutes\)$", re.M)
TIME = re.compile(r"Time: about (\d+) minutes with the exercises, (\d+) without")
MOST_BYTES = 200_000_000  # of a notebook with its pictures
UNWRITTEN = "raise NotImplementedError"
State = Literal["passed", "not yet", "not run", "not begun"]


@dataclass(frozen=True)
class Exercise:
    """An exercise and how far the reader is. `remark` is what the checker said last, where it did not pass."""

    number: int
    title: str
    level: str
    minutes: int
    state: State
    remark: str


@dataclass(frozen=True)
class Chapter:
    """A chapter, its exercises in order, and the minutes that it takes with and without them."""

    name: str
    title: str
    minutes: tuple[int, int]
    exercises: Sequence[Exercise]

    @property
    def passed(self) -> int:
        return sum(exercise.state == "passed" for exercise in self.exercises)


def read_marks(folder: Path) -> list[Chapter]:
    """Read the notebooks of a folder, in the order of their names.

    Raises InputError, naming the folder without chapters or the file that is no notebook.
    """
    chapters = [_chapter(path) for path in sorted(folder.glob("[0-9]*.ipynb"))]
    if not chapters:
        raise InputError(f"{folder}: there are no chapters here")
    return chapters


def _chapter(path: Path) -> Chapter:
    try:
        cells = read_json(path, MOST_BYTES)["cells"]
        cells = [cell | {"source": "".join(cell["source"])} for cell in cells]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no notebook ({type(error).__name__}: {error})") from None
    return chapter_of(path.stem, cells)


def chapter_of(name: str, cells: Sequence[dict[str, Any]]) -> Chapter:
    """Return a notebook's title, times and exercises, from its cells with what they printed."""
    prose = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    title, times = re.search(r"^# (.+)$", prose, re.M), TIME.search(prose)
    minutes = (int(times[1]), int(times[2])) if times else (0, 0)
    return Chapter(name, title[1] if title else name, minutes, tuple(_exercises(cells)))


def _exercises(cells: Sequence[dict[str, Any]]) -> Iterator[Exercise]:
    """An exercise is a heading and the next cell of code."""
    heading = None
    for cell in cells:
        if cell["cell_type"] == "markdown":
            heading = next(EXERCISE.finditer(cell["source"]), heading)
        elif cell["cell_type"] == "code" and heading is not None:
            number, title, level, minutes = heading.groups()
            yield Exercise(int(number), title, level, int(minutes), *_state(cell))
            heading = None


def _state(cell: dict[str, Any]) -> tuple[State, str]:
    printed = [line for output in cell.get("outputs", []) for line in _lines(output)]
    if UNWRITTEN in cell["source"]:
        return "not begun", ""
    if any(line.startswith("Right") for line in printed) and not any(line.startswith("Not yet") for line in printed):
        return "passed", ""
    if not printed:
        return "not run", ""
    return "not yet", next((line for line in printed if line.startswith("Not yet")), printed[-1])


def _lines(output: dict[str, Any]) -> list[str]:
    """What a cell printed, or the name and text of its error."""
    if output.get("output_type") == "error":
        prefix = "Not yet" if output.get("ename") == "Mistake" else output.get("ename", "")
        return [f"{prefix}: {output.get('evalue', '')}"]
    return "".join(output.get("text", "")).splitlines()


def show_marks(folder: Path) -> None:
    """Print the mark sheet as tables, in a terminal or a notebook."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    chapters, console = read_marks(folder), Console()
    sheet = Table("exercise", "", title="Mark sheet of the course", title_justify="left")
    for chapter in chapters:
        whole, without = chapter.minutes
        title = escape(f"{chapter.name[:2]} {chapter.title}")
        name = f"[bold]{title}[/] ({whole} minutes, {without} without exercises)"
        sheet.add_row(name, f"{chapter.passed} of {len(chapter.exercises)}")
        for each in chapter.exercises:
            name = f"   {each.number} {escape(each.title)} ({each.level}, {each.minutes} minutes)"
            sheet.add_row(name, escape(each.remark or each.state))
        sheet.add_section()
    console.print(sheet)
    passed, total = sum(chapter.passed for chapter in chapters), sum(len(chapter.exercises) for chapter in chapters)
    console.print(f"{passed} of {total} exercises pass. This was read from the saved notebooks; none was run.")
