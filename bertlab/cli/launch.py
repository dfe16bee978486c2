"""`bertlab explore` and `lab`: the explorer and the chapters, from a checkout or an installed package."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import bertlab
from bertlab.errors import InputError, require
from bertlab.io.stories import read_stories


@dataclass(frozen=True)
class Explore:
    """Open the explorer in the browser."""

    port: int = 8501
    """Where it is served, on this machine only."""
    no_folders: bool = False
    """Open no folders of this machine except bundled models and runs, for a server that others use."""
    no_hub: bool = False
    """Never ask the Hugging Face hub for a model."""
    stories: Path | None = None
    """A folder of stories of your own, NAME.toml each, shown beside the bundled ones."""

    def run(self) -> None:
        """Serve app/explore.py with Streamlit until it is stopped."""
        require("streamlit", "app")
        app = folder_of("app")
        if self.stories:
            pages = ["", *sorted(page.parent.name for page in app.glob("views/*/page.py"))]  # by their addresses
            read_stories(self.stories, pages)
        path = os.pathsep.join(filter(None, [str(app.parent), os.environ.get("PYTHONPATH")]))  # its pages import `app`
        command = [sys.executable, "-m", "streamlit", "run", str(app / "explore.py"), "--server.port", str(self.port)]
        # app/shared/model/gate.py reads these two, app/shared/page/stories.py the third.
        closed = {"BERTLAB_NO_FOLDERS": self.no_folders, "BERTLAB_NO_HUB": self.no_hub}
        more = {"BERTLAB_STORIES": str(self.stories.resolve())} if self.stories else {}
        start(command, os.environ | {"PYTHONPATH": path} | more | {name: "1" for name, on in closed.items() if on})


@dataclass(frozen=True)
class Lab:
    """Open the chapters in JupyterLab."""

    def run(self) -> None:
        """Run JupyterLab until it is stopped."""
        require("jupyterlab", "course")
        quiet = ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            quiet.append("--allow-root")  # in a container, where Jupyter refuses otherwise
        start([sys.executable, "-m", "jupyterlab", f"--notebook-dir={folder_of('notebooks')}", *quiet])


def folder_of(name: str) -> Path:
    """Return the folder `app` or `notebooks`: beside the package in a checkout, inside it when installed."""
    package = Path(bertlab.__file__).parent
    for folder in (package / "explorer" / name, package / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise InputError(f"the folder {name!r} is not part of this installation: install bertlab again")


def start(command: list[str], environment: dict[str, str] | None = None) -> NoReturn:
    """Run the command until it ends or Ctrl-C is pressed; then end with its exit code."""
    try:
        code = subprocess.run(command, check=False, env=environment).returncode
    except KeyboardInterrupt:
        code = 0
    raise SystemExit(code)
