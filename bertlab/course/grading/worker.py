"""The process that runs what learners wrote: `python -m bertlab.course.grading.worker`, started by class_marks.

It reads its job, a line of JSON, and a notebook from its standard input, closes the sandbox, and then runs one exercise
after the other. Each line that it writes begins with the token of its job, so nothing that a submission prints is taken
for a result. It may hang, be killed or run out of memory at any time: class_marks then knows which exercise ran.
"""

import ast
import builtins
import inspect
import io
import json
import os
import sys
import time
from collections.abc import Callable, Container, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, BinaryIO

import torch

import bertlab
from bertlab.course import keep
from bertlab.course.checks.base import Mistake
from bertlab.course.definitions import parse_cell
from bertlab.course.grading import sandbox
from bertlab.course.grading.exercises import KEEP, Asked, answered, asked, chapter_of, read_cells, shape
from bertlab.course.grading.slicing import Statement, needed, plain
from bertlab.errors import printable

PRINTED = 100_000  # letters that are kept of what an exercise prints
MESSAGE = 300
MEGABYTE = 2**20
WATCHED = ("bertlab.", "torch.nn.functional.", "torch.nn.modules.", "torch.functional.", "torch._tensor.")
Report = Callable[..., None]


class Capped(io.StringIO):
    """Keeps the last of what is printed."""

    def write(self, text: str) -> int:
        if self.tell() + len(text) > PRINTED:
            self.seek(0)
            self.truncate()
        return super().write(text[-PRINTED:])


def main() -> None:
    """Grade the notebook that stands on the standard input."""
    lines, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", buffering=0)
    job, notebook = json.loads(lines.readline()), lines.read()
    silence = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(silence, number)
    scratch = Path.cwd()
    (scratch / "my_bert_versions").mkdir()  # folders cannot be made in the sandbox
    chapters = {path.stem: path.read_bytes() for path in sorted(Path(job["chapters"]).glob("[0-9]*.ipynb"))}
    torch.set_num_threads(1)
    sandbox.limit(job["memory"] * MEGABYTE, job["seconds"], job["file_size"])
    report = _reporter(job.pop("token"), results)
    try:
        if job["closed"]:
            sandbox.close(scratch)
    except OSError as error:
        report(failed=f"not run: the sandbox cannot be closed ({error})")
    else:
        grade(job, notebook, chapters, report)
    os._exit(0)  # whatever threads or exit handlers the submission left


def _reporter(token: str, results: BinaryIO) -> Report:
    def report(**event: Any) -> None:
        results.write(f"{token} {json.dumps(event)}\n".encode())

    return report


def grade(job: dict[str, Any], notebook: bytes, chapters: dict[str, bytes], report: Report) -> None:
    """Report the chapter and its exercises, then run those that are not in job["done"]."""
    try:
        cells = read_cells(notebook)
        chapter = chapter_of(job["name"], cells, chapters)
    except (ValueError, RecursionError) as error:
        return report(failed=_one_line(str(error)))
    exercises = asked(read_cells(chapters[chapter]))
    report(chapter=chapter, exercises=[[each.number, each.title, each.level] for each in exercises])
    waiting = [each for each in exercises if each.number not in job["done"]]
    settings = {each.number: _setting(each) for each in waiting if _answer(cells, each)}
    before = _callables()
    _forget_the_course()
    for exercise in waiting:
        report(begin=exercise.number)
        start = time.perf_counter()
        passed, message = _result(exercise, cells, settings)
        changed = _changed(before)
        if passed and changed:
            passed, message = False, f"not counted: it replaces {changed}"
        report(done=exercise.number, passed=passed, message=message, seconds=time.perf_counter() - start)
        if changed:
            return  # what is left runs in a fresh process


def _answer(cells: Sequence[dict[str, Any]], exercise: Asked) -> str:
    """The learner's cell, or nothing where it is missing, as it was, or no Python."""
    try:
        source, _ = answered(cells, exercise)
    except Exception:  # reported when its turn comes
        return ""
    return "" if source.strip() == exercise.source.strip() else source


def _setting(exercise: Asked) -> dict[str, Any]:
    """The checkers of an exercise, by name, with what they are given besides the answer."""
    space: dict[str, Any] = {"__name__": "chapter"}
    _execute(exercise.setting(), space)
    return space


def _result(exercise: Asked, cells: Sequence[dict[str, Any]], settings: dict[int, dict[str, Any]]) -> tuple[bool, str]:
    """Whether the answer passes, and what its checker or its error says, in one line."""
    printed = Capped()
    try:
        source, before = answered(cells, exercise)
        if not source:
            return False, f"no cell under its heading defines {' and '.join(exercise.names)}"
        if source.strip() == exercise.source.strip():
            return False, "not begun"
        with redirect_stdout(printed):
            copied = _check(exercise, source, before, settings)
    except Mistake as mistake:
        return False, _one_line(f"Not yet: {mistake}")
    except MemoryError:
        return False, "out of memory"
    except BaseException as error:  # SystemExit and KeyboardInterrupt, too: what a submission raises is its own
        return False, _one_line(f"{type(error).__name__}: {error}")
    if copied:
        return True, "Right, and it is the solution of the course"
    right = [line for line in printed.getvalue().splitlines() if line.startswith("Right")]
    return True, _one_line(right[-1] if right else "Right")


def _check(exercise: Asked, source: str, before: Sequence[Statement], settings: dict[int, dict[str, Any]]) -> bool:
    """Raise what is wrong with an answer; return whether it is the solution, but for comments."""
    _execute(exercise.modes(), {"torch": torch})
    if not exercise.checks:
        cell = plain(source.removeprefix(KEEP))
        _all_there(exercise, [part.name for part in parse_cell(cell)[1]])
        return "your" not in keep.keep(cell)
    space: dict[str, Any] = {"__name__": "__main__"}
    _execute(needed(before, exercise.names), space)
    _all_there(exercise, space)
    given = settings[exercise.number] | {name: space[name] for name in exercise.names}
    for check in exercise.checks:
        eval(compile(ast.Expression(check), exercise.title, "eval"), given)
    own = [next(each.node for each in reversed(before) if name in each.binds) for name in exercise.names]
    return [shape(node) for node in own] == exercise.solutions


def _all_there(exercise: Asked, names: Container[str]) -> None:
    lacking = [name for name in exercise.names if name not in names]
    if lacking:
        raise Mistake(f"the cell does not define {' and '.join(lacking)}")


def _execute(nodes: Sequence[ast.stmt], space: dict[str, Any]) -> None:
    """Run statements in a namespace; what they take from my_bert is there, as solutions or as kept before."""
    if any(isinstance(node, ast.ImportFrom) and node.module == "my_bert" for node in nodes):
        keep.load()
    exec(compile(ast.Module(list(nodes), []), "notebook", "exec"), space)


# What a submission could replace


def _callables() -> dict[str, int]:
    """Every function and class of the library and of PyTorch's public modules, with the methods of their classes."""
    modules = [module for name, module in sys.modules.items() if f"{name}.".startswith(WATCHED)]
    found = {}
    for module in [*modules, torch, builtins]:
        for name, value in list(vars(module).items()):
            place = f"{module.__name__}.{name}"
            if callable(value):
                found[place] = id(inspect.unwrap(value))  # torch wraps some of its own later
            if isinstance(value, type) and value.__module__.startswith(("bertlab", "torch")):
                found |= {f"{place}:{key}": id(each) for key, each in list(vars(value).items()) if callable(each)}
    return found


def _changed(before: dict[str, int]) -> str:
    """The name of something that is not what it was before the submission ran, or nothing.

    What is new counts only where it is a method of a class that was there: modules may have been imported since.
    """
    now = _callables()
    changed = (place for place, value in now.items() if before.get(place, value) != value)
    added = (place for place in now if place not in before and ":" in place and place.partition(":")[0] in before)
    return next((place.replace(":", ".") for place in (*changed, *added)), "")


def _forget_the_course() -> None:
    """Let a submission that imports the checkers get its own copy of them, which it may change as it likes."""
    for name in [name for name in sys.modules if f"{name}.".startswith("bertlab.course.")]:
        del sys.modules[name]
    del bertlab.course


def _one_line(text: str) -> str:
    return printable(" ".join(text[: 4 * MESSAGE].split()))[:MESSAGE]


if __name__ == "__main__":
    main()
