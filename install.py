"""Install bertlab and some of its extras into .venv, which is made if need be: python install.py app course

uv installs in seconds what takes pip minutes; pip does it where uv cannot be had. On Linux without an NVIDIA GPU
PyTorch comes in its build for processors alone, several gigabytes smaller. All versions are those of constraints.txt.
What is there already is left as it is, and what an earlier call installed stays.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
READY = VENV / "ready"  # written last: an install that was interrupted is never taken for a good one
CONSTRAINTS = HERE / "constraints.txt"
ALL = ("baselines", "figures", "course", "app", "data", "tensorboard", "wandb", "chinese", "export", "site", "test")
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
# Settings of pip, and the variables by which uv takes the same.
FOR_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "constraint": "UV_CONSTRAINT",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
}


def main(extras: Sequence[str]) -> None:
    """Make .venv hold these extras, or all of them where none is named."""
    if sys.version_info < (3, 11):  # noqa: UP036 (whoever calls it by hand may have an older one)
        sys.exit(f"bertlab needs Python 3.11 or later; {sys.executable} is {platform.python_version()}")
    if unknown := set(extras) - set(ALL):
        sys.exit(f"install.py: unknown {', '.join(sorted(unknown))}; known: {', '.join(ALL)}")
    there = installed()
    wanted = sorted(there | set(extras or ALL))
    if set(wanted) == there:
        return
    if not works():
        if VENV.is_symlink():  # clearing would empty the folder that it leads to, which is another's
            VENV.unlink()
        run(sys.executable, "-m", "venv", "--clear", VENV)
    READY.unlink(missing_ok=True)
    print("Installing bertlab into .venv: a minute or two, once.", flush=True)
    install(["-c", CONSTRAINTS, "-e", f"{HERE}[{','.join(wanted)}]"])
    READY.write_text("\n".join([fingerprint(), *wanted]))


def fingerprint() -> str:
    """Return a hash of what an install depends on: this folder and what it pins."""
    digest = hashlib.sha256(str(HERE).encode())
    for file in (HERE / "pyproject.toml", CONSTRAINTS):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def installed() -> set[str]:
    """Return the extras that .venv holds; none if it is not the one that this folder needs."""
    lines = READY.read_text().splitlines() if READY.is_file() else [""]
    return set(lines[1:]) if lines[0] == fingerprint() and works() else set()


def works() -> bool:
    """Return whether .venv is of this folder, not a copy or from before a move, and its Python still there."""
    named = VENV / "pyvenv.cfg"
    written = named.read_text(encoding="utf-8") if named.is_file() else ""
    ours = re.search(rf"^command = .* {re.escape(str(VENV))}$", written, re.M)
    return bool(ours) and PYTHON.exists() and not ask(PYTHON, "-c", "").returncode


def install(wanted: Sequence[str | Path]) -> None:
    """Install with uv, or else with pip."""
    small = sys.platform == "linux" and platform.machine() == "x86_64" and not shutil.which("nvidia-smi")
    if not any(uv(wanted, variables, small) for variables in uv_variables(small)):
        more = ["--extra-index-url", CPU_BUILDS] if small else []
        run(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *more, *wanted)


def uv_variables(small: bool) -> list[dict[str, str]]:
    """Return the environments to try uv in: as pip is set up here, and then with PyTorch's own index."""
    plain = translated(ask(PYTHON, "-m", "pip", "config", "list").stdout) | os.environ
    return [plain, plain | {"UV_TORCH_BACKEND": "cpu"}] if small else [plain]


def translated(settings: str) -> dict[str, str]:
    """Return pip's settings, as `pip config list` prints them, as variables of uv."""
    variables = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # the best of all indexes, as pip does
    for line in sorted(settings.splitlines(), reverse=True):  # ":env:", which counts most, comes last
        name, _, value = line.partition("=")
        if variable := FOR_UV.get(name.rpartition(".")[2]):
            between = "," if variable == "UV_FIND_LINKS" else " "
            variables[variable] = between.join(ast.literal_eval(value).split())
    return variables


def uv(wanted: Sequence[str | Path], variables: Mapping[str, str], small: bool) -> bool:
    """Install with uv, and return whether it did; not where PyTorch would bring what only an NVIDIA GPU uses."""
    if ask(PYTHON, "-m", "pip", "install", "-c", CONSTRAINTS, "uv").returncode:
        return False
    command = (PYTHON, "-m", "uv", "pip", "install", "--python", PYTHON, *wanted)
    planned = ask(*command, "--dry-run", env=variables)
    if planned.returncode or (small and re.search(r"^ \+ nvidia-", planned.stderr, re.M)):
        return False
    return not subprocess.run(list(map(str, command)), cwd=HERE, env=variables).returncode


def run(*command: str | Path) -> None:
    """Run a command in this folder, in sight; its failure is the end of this script."""
    if failed := subprocess.run(list(map(str, command)), cwd=HERE).returncode:
        sys.exit(failed)


def ask(*command: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in this folder, unseen; it may fail."""
    return subprocess.run(list(map(str, command)), cwd=HERE, capture_output=True, text=True, env=env)


if __name__ == "__main__":
    main(sys.argv[1:])
