"""`bertlab course grade`: run a class's notebooks again, each in a sandboxed process, and say which exercises pass."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertlab.course.grading.process import FILE_SIZE, START, Limits, run_worker
from bertlab.errors import InputError, printable

NOTEBOOK = 100 * 2**20  # bytes; nobody's notebook is larger
COLUMNS = ("learner", "chapter", "exercise", "level", "passed", "message", "seconds")


@dataclass(frozen=True)
class Mark:
    """One line of the table: an exercise of a learner. `message` says why it did not pass."""

    learner: str
    chapter: str = ""
    exercise: str = ""
    level: str = ""
    passed: bool = False
    message: str = ""
    seconds: float = 0.0

    def row(self) -> list[str]:
        """Return the fields as text that neither a terminal nor a spreadsheet takes for a command."""
        texts = [printable(text) for text in (self.learner, self.chapter, self.exercise, self.level, self.message)]
        *first, message = ["'" + text if text[:1] in "=+-@" and text else text for text in texts]
        return [*first, "yes" if self.passed else "no", message, f"{self.seconds:.1f}"]


@dataclass
class Graded:
    """What is known of one notebook so far. Reports are taken as what they ought to be, whoever may have sent them."""

    chapter: str
    exercises: list[tuple[int, str, str]] = field(default_factory=list)
    results: dict[int, tuple[bool, str, float]] = field(default_factory=dict)
    running: int | None = None
    since: float = 0.0
    failed: str = ""

    def take(self, event: dict[str, Any]) -> None:
        """Note what the worker reports."""
        self.failed = str(event.get("failed", ""))
        if "chapter" in event and not self.exercises:
            self.chapter = str(event["chapter"])
            self.exercises = [(int(number), str(title), str(level)) for number, title, level in event["exercises"]]
        self.running, self.since = (int(event["begin"]) if "begin" in event else None), time.monotonic()
        if "done" in event:
            self.results[int(event["done"])] = (
                event["passed"] is True,
                str(event["message"]),
                float(event["seconds"]),
            )

    def waiting(self) -> list[int]:
        return [number for number, _, _ in self.exercises if number not in self.results]

    def marks(self, learner: str) -> list[Mark]:
        if self.failed or not self.exercises:
            return [Mark(learner, self.chapter, message=self.failed)]
        return [
            Mark(learner, self.chapter, f"{number} {title}", level, *self.results[number])
            for number, title, level in self.exercises
        ]


def hand_ins(folder: Path, chapters: Path) -> list[tuple[str, Path | None]]:
    """Return each learner's name with a notebook, in order: a folder with notebooks or a notebook for each learner.

    A learner without a notebook comes with None. Raises InputError where there is nobody.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no folder; give the one that holds a folder or a notebook for each learner")
    found: list[tuple[str, Path | None]] = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            notebooks = [path for path in sorted(entry.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]
            found += [(entry.name, path) for path in notebooks] or [(entry.name, None)]
        elif entry.suffix == ".ipynb":
            found.append((entry.stem, entry))
    if any(path and path.parent == folder and (chapters / path.name).exists() for _, path in found):
        raise InputError(f"{folder}: has chapters in it; give the folder above, with a folder for each learner")
    if not found:
        raise InputError(f"{folder}: holds no folders and no notebooks")
    return found


def grade_class(
    found: Sequence[tuple[str, Path | None]], chapters: Path, limits: Limits, closed: bool
) -> Iterator[list[Mark]]:
    """Grade the notebooks that `hand_ins` found, several at a time, and yield the marks of each in order.

    `closed` runs them in the sandbox, without which nothing but the limits holds.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        try:
            jobs = [pool.submit(_grade, name, path, chapters, limits, closed, stop) for name, path in found]
            for job in jobs:
                yield job.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _grade(
    learner: str, path: Path | None, chapters: Path, limits: Limits, closed: bool, stop: threading.Event
) -> list[Mark]:
    if path is None:
        return [Mark(learner, message="no notebook in the folder")]
    if path.is_symlink() or not path.is_file() or path.stat().st_size > NOTEBOOK:
        return [Mark(learner, path.stem, message=f"no notebook: a link, no plain file, or above {NOTEBOOK >> 20} MB")]
    graded, left = Graded(path.stem), float(limits.notebook_seconds)
    job = {"name": path.stem, "chapters": str(chapters), "closed": closed, "file_size": FILE_SIZE}
    job |= {"memory": limits.memory, "seconds": START + limits.notebook_seconds}
    while not graded.failed and not stop.is_set():
        before = len(graded.results)
        reason, spent = run_worker(job | {"done": [*graded.results]}, path, limits, left, graded.take, stop)
        left -= spent
        if graded.running is not None:
            graded.results[graded.running] = (False, reason, time.monotonic() - graded.since)
            graded.running = None
        if graded.exercises and not graded.waiting():
            break
        if left <= 0:
            over = f"not run: the {limits.notebook_seconds} seconds for the notebook were over"
            graded.results |= dict.fromkeys(graded.waiting(), (False, over, 0.0))
        elif len(graded.results) == before:  # ended where no exercise was to blame
            graded.failed = graded.failed or f"not run: {reason}"
    return graded.marks(learner)


def show_class(marks: Sequence[Mark]) -> None:
    """Print how many exercises of each chapter each learner has right."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    chapters = sorted({mark.chapter for mark in marks if mark.exercise})
    table = Table("learner", *(chapter[:2] for chapter in chapters), "passed", title="Marks", title_justify="left")
    for learner in dict.fromkeys(mark.learner for mark in marks):
        own = [mark for mark in marks if mark.learner == learner]
        cells = [_share([mark for mark in own if mark.chapter == chapter]) for chapter in chapters]
        failed = [mark.message for mark in own if not mark.exercise]
        total = _share([mark for mark in own if mark.exercise]) or "-"
        table.add_row(escape(printable(learner)), *cells, escape("; ".join([total, *map(printable, failed)])))
    Console().print(table)


def _share(marks: Sequence[Mark]) -> str:
    return f"{sum(mark.passed for mark in marks)} of {len(marks)}" if marks else ""
