"""`bertlab new`: the folder of a project, from text to a model with its card."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional
from bertlab.errors import InputError
from bertlab.io.atomic import atomic_folder

TEMPLATE = Path(__file__).with_name("template")
NAME = re.compile(r"\w[\w.-]*", re.ASCII)


@dataclass(frozen=True)
class New:
    """Make the folder of a project: what to do in which order, the commands of each step, a rubric to mark it by."""

    project: Positional[Path]
    """The folder to make; there must be none of that name."""

    def run(self) -> None:
        if not NAME.fullmatch(self.project.name):
            raise InputError(f"{str(self.project)!r}: name the project in letters, digits, - and _, as in my-bert")
        if os.path.lexists(self.project):
            raise InputError(f"{self.project}: is there already; choose another name")
        with atomic_folder(self.project) as work:
            shutil.copytree(TEMPLATE, work, dirs_exist_ok=True)
            for folder in ("texts", "labels"):
                (work / folder).mkdir()
        say(f"made {self.project}; what to do is in {self.project / 'README.md'}")
