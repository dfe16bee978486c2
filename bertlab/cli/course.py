"""`bertlab course`: how far a reader is."""

from dataclasses import dataclass
from pathlib import Path

from bertlab.cli.settings import Positional


@dataclass(frozen=True)
class Course:
    """List the chapters with their exercises: which pass, and how long each takes. Runs nothing."""

    folder: Positional[Path | None] = None
    """The notebooks; by default those that `bertlab lab` opens."""

    def run(self) -> None:
        from bertlab.cli.launch import folder_of
        from bertlab.course.marks import show_marks

        show_marks(self.folder or folder_of("notebooks"))
