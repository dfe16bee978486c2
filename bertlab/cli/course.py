"""`bertlab course`: the mark sheet of one reader, and the marks of a class."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from bertlab.cli.launch import folder_of
from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional, check_above_zero
from bertlab.errors import InputError
from bertlab.io.atomic import atomic_file


@dataclass(frozen=True)
class Marks:
    """List the chapters with their exercises: which pass, and how long each takes. Runs nothing."""

    folder: Positional[Path | None] = None
    """The notebooks; by default those that `bertlab lab` opens."""

    def run(self) -> None:
        """Print the mark sheet."""
        from bertlab.course.marks import show_marks

        show_marks(self.folder or folder_of("notebooks"))


@dataclass(frozen=True)
class Grade:
    """Run the notebooks of a class again, in a container, and write which exercises pass."""

    folder: Positional[Path]
    """Holds a folder or a notebook for each learner."""
    out: Path = Path("marks.csv")
    """The table: learner, chapter, exercise, level, passed, message."""
    seconds: int = 60
    """What a cell may take that the learner wrote or changed."""
    notebook_seconds: int = 1800
    """What a whole notebook may take."""
    unprotected: bool = False
    """Run them outside a container: submissions then have all of your rights."""

    def run(self) -> None:
        """Write the table and print a summary."""
        from tqdm.auto import tqdm

        from bertlab.course.grading import (
            COLUMNS,
            Limits,
            container_command,
            grade_class,
            hand_ins,
            in_container,
            show_class,
        )

        check_above_zero(self, ("seconds", "notebook_seconds"))
        chapters = folder_of("notebooks").resolve()
        found, marks = hand_ins(self.folder, chapters), []
        if not (in_container() or self.unprotected):
            command = container_command(self.folder, self.out)
            raise InputError(
                f"submissions can do whatever you can; run them in a container: {command} (or trust the "
                "class: --unprotected; docs/teaching.md has the image)"
            )
        with atomic_file(self.out) as file:
            file.write(csv_lines([COLUMNS]))
            graded = grade_class(found, chapters, Limits(self.seconds, self.notebook_seconds))
            for each in tqdm(graded, total=len(found), desc="graded", unit=" notebooks"):
                marks += each
                file.write(csv_lines(mark.row() for mark in each))
        show_class(marks)
        say(f"written to {self.out}")


def csv_lines(rows: Iterable[Iterable[str]]) -> bytes:
    """Return rows as lines of CSV in UTF-8."""
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


@dataclass(frozen=True)
class Course:
    """Your mark sheet; for teachers: the marks of a class."""

    action: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[Marks | Grade]] = field(default_factory=Marks)

    def run(self) -> None:
        """Do it."""
        self.action.run()
