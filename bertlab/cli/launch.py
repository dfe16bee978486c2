"""Start the explorer and the chapters, from a checkout or an installed package."""

import os
import subprocess
import sys
from pathlib import Path

import bertlab
from bertlab.errors import InputError, require


def explore(port: int) -> None:
    """Serve app/explore.py with Streamlit until it is stopped."""
    require("streamlit", "app")
    app = part("app")
    path = os.pathsep.join(filter(None, [str(app.parent), os.environ.get("PYTHONPATH")]))  # its pages import `app`
    command = [sys.executable, "-m", "streamlit", "run", str(app / "explore.py"), "--server.port", str(port)]
    start(command, os.environ | {"PYTHONPATH": path})


def lab() -> None:
    """Open the chapters in JupyterLab until it is stopped."""
    require("jupyterlab", "course")
    quiet = ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        quiet.append("--allow-root")  # in a container; Jupyter wants to be told
    start([sys.executable, "-m", "jupyterlab", f"--notebook-dir={part('notebooks')}", *quiet])


def part(name: str) -> Path:
    """The folder `app` or `notebooks`: beside the package in a checkout, inside it when installed."""
    package = Path(bertlab.__file__).parent
    for folder in (package / "explorer" / name, package / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise InputError(f"the folder {name!r} is not part of this installation: install bertlab again")


def start(command: list[str], environment: dict[str, str] | None = None) -> None:
    try:
        code = subprocess.run(command, check=False, env=environment).returncode
    except KeyboardInterrupt:
        code = 0
    raise SystemExit(code)
