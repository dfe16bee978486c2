"""The set-up tells one story: what is declared, what is pinned, what each command installs, what is kept."""

import json
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.explore import PAGES
from bertlab.cli.main import SECOND, Command, main
from bertlab.io.locate import bundled_models

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
INSTALL = runpy.run_path(str(ROOT / "install.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def declared() -> dict[str, Requirement]:
    lines = sum(PROJECT["optional-dependencies"].values(), PROJECT["dependencies"])
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def pinned() -> dict[str, Requirement]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = map(Requirement, (line for line in lines if line and not line.startswith("#")))
    return {canonicalize_name(r.name): r for r in pins}


def extras_in(text: str) -> set[str]:
    return set(text.split(","))


def tracked_files() -> list[Path]:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = (ROOT / name for name in names.decode().split("\0") if name)
    return [path for path in paths if path.is_file()]


# What is installed


def test_constraints_pin_exact_public_versions():
    for name, pin in pinned().items():
        (specifier,) = pin.specifier
        assert specifier.operator == "==", name
        assert "+" not in specifier.version and "*" not in specifier.version and not pin.url, name


def test_every_dependency_is_pinned_within_its_range():
    pins = pinned()
    for name, requirement in declared().items():
        assert name in pins, f"{name} has no pin in constraints.txt"
        (pin,) = pins[name].specifier
        assert pin.version in requirement.specifier, f"{pins[name]} is outside {requirement}"


def test_environment_yml_installs_the_same_set():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    *conda, pip = environment["dependencies"]
    (python,) = (line.removeprefix("python=") for line in conda if line.startswith("python="))
    assert python in Requirement("python" + PROJECT["requires-python"]).specifier
    constraints, package = pip["pip"]
    assert constraints == "-c constraints.txt"
    assert extras_in(re.fullmatch(r"-e \.\[(.*)\]", package)[1]) == EXTRAS


def test_the_installer_knows_all_extras():
    assert set(INSTALL["ALL"]) == EXTRAS


def test_the_makefile_asks_for_extras_that_there_are():
    asked = re.findall(r"^[a-z-]+: EXTRAS := (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert asked and all(set(extras.split()) <= EXTRAS for extras in asked)


def test_ci_runs_the_documented_test_command():
    script = (ROOT / ".ci" / "run").read_text()
    assert script.startswith("#!/usr/bin/env bash\n") and "set -euo pipefail" in script
    assert re.search(r"^exec make test\b", script, re.M)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


# How .venv is kept

PIP_SETTINGS = """\
:env:.find-links='/wheels /more'
global.cert='/etc/ca.crt'
global.extra-index-url='https://one/simple\\nhttps://two/simple'
global.find-links='/old'
global.no-such-setting='1'
"""


class Machine:
    """What the installer runs on: each command is written down, and some fail or answer as the test says."""

    def __init__(self, folder: Path, monkeypatch):
        self.folder, self.steps, self.fails, self.planned = folder, [], set(), ""
        for name in ("pyproject.toml", "constraints.txt", "install.py"):
            shutil.copy(ROOT / name, folder)
        monkeypatch.setattr(subprocess, "run", self.run)
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(platform, "machine", lambda: "x86_64")
        monkeypatch.setattr(shutil, "which", lambda name: None)

    def run(self, command, cwd, env=None, **_):
        words = [Path(word).name for word in command]
        kind = {"venv": "venv", "uv": "uv", "pip": "pip"}.get(words[2], "asked")
        if kind == "pip" and words[-1] == "uv":
            kind = "fetch uv"
        elif kind == "pip" and words[3] == "config":
            kind = "asked"
        elif kind == "uv":
            kind = ("plan" if "--dry-run" in words else "uv") + " cpu" * ("UV_TORCH_BACKEND" in env)
        if kind == "venv":
            python = self.folder / ".venv" / "bin" / "python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()
            (self.folder / ".venv" / "pyvenv.cfg").write_text(f"command = {' '.join(command)}\n")
        if kind != "asked":
            self.steps.append(kind)
            assert kind == "venv" or str(self.folder / "constraints.txt") in command
        return subprocess.CompletedProcess(command, int(kind in self.fails), PIP_SETTINGS, self.planned)

    def install(self, *extras: str) -> list[str]:
        """The steps that an install took, then "failed" if it failed."""
        self.steps = []
        try:
            runpy.run_path(str(self.folder / "install.py"))["main"](extras)
        except SystemExit:
            self.steps.append("failed")
        return self.steps


@pytest.fixture
def machine(tmp_path, monkeypatch):
    if os.name == "nt":
        pytest.skip("the paths are those of other systems")
    folder = tmp_path / "a clone"
    folder.mkdir()
    return Machine(folder, monkeypatch)


ONCE = ["fetch uv", "plan", "uv"]


def test_what_is_there_is_not_installed_again(machine):
    assert machine.install("app") == ["venv", *ONCE]
    assert machine.install("app") == []
    assert machine.install("course") == ONCE
    assert machine.install("app", "course") == []
    assert machine.install() == ONCE
    assert machine.install("site") == []


def test_an_unknown_extra_is_refused_by_name(machine, capsys):
    assert machine.install("curse") == ["failed"]


def test_a_changed_pin_installs_again(machine):
    machine.install("app")
    with (machine.folder / "constraints.txt").open("a") as file:
        file.write("one-more==1.0\n")
    assert machine.install("app") == ONCE


def test_an_install_that_failed_is_taken_up_again(machine):
    machine.fails = {"uv", "uv cpu", "pip"}
    assert machine.install("app")[-2:] == ["pip", "failed"]
    machine.fails = set()
    assert machine.install("app") == ONCE


def test_the_venv_of_another_clone_is_not_used(machine):
    machine.install("app")
    machine.folder = machine.folder.rename(machine.folder.parent / "moved")
    assert machine.install("app") == ["venv", *ONCE]


def test_the_venv_of_another_clone_is_left_whole_behind_a_link(machine, tmp_path):
    machine.install("app")
    other = (machine.folder / ".venv").rename(tmp_path / "other")
    (machine.folder / ".venv").symlink_to(other)
    (other / "pyvenv.cfg").write_text(f"command = python -m venv {other}\n")
    before = sorted(other.rglob("*"))
    assert machine.install("app") == ["venv", *ONCE]
    assert sorted(other.rglob("*")) == before and not (machine.folder / ".venv").is_symlink()


def test_a_venv_whose_python_is_gone_is_replaced(machine):
    machine.install("app")
    shutil.rmtree(machine.folder / ".venv" / "bin")
    assert machine.install("app") == ["venv", *ONCE]


def test_uv_gets_the_settings_of_pip():
    assert INSTALL["translated"](PIP_SETTINGS) == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_INDEX": "https://one/simple https://two/simple",
        "SSL_CERT_FILE": "/etc/ca.crt",
    }


def test_packages_of_nvidia_are_fetched_for_nvidia_alone(machine, monkeypatch):
    machine.planned = "Would download 2 packages\n + nvidia-cublas==13.1\n + torch==2.13.0\n"
    assert machine.install("app") == ["venv", "fetch uv", "plan", "fetch uv", "plan cpu", "pip"]
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    assert machine.install("course") == ONCE


def test_pip_installs_where_uv_cannot(machine):
    machine.fails = {"fetch uv"}
    assert machine.install("app") == ["venv", "fetch uv", "fetch uv", "pip"]


# What make runs

FAKE_PYTHON = """#!/bin/sh
case "$*" in
    *install.py*) echo "$@" >>log ;;
    *"-m pytest"*) echo tests >>log; echo left | tee "$TMPDIR/a" >"$BERTLAB_MY_BERT/my_bert.py"; test ! -e a-mistake ;;
esac
"""


@pytest.fixture
def clone(tmp_path):
    """A folder with the Makefile, where Python only writes down what it is asked for."""
    if os.name == "nt" or not shutil.which("make"):
        pytest.skip("no make here")
    folder = tmp_path / "a clone"
    (folder / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("python", "ruff", "mypy", "streamlit", "jupyter"):
        program = folder / ".venv" / "bin" / name
        program.write_text(FAKE_PYTHON)
        program.chmod(0o755)
    return folder


def made(folder: Path, target: str) -> list[str]:
    """What make ran for a target, then "failed" if it failed."""
    log = folder / "log"
    log.unlink(missing_ok=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    command = ["make", target, "PYTHON=.venv/bin/python"]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
    return log.read_text().splitlines() + ["failed"] * (result.returncode != 0)


@pytest.mark.parametrize("target, extras", [("explore", " app"), ("lab", " course"), ("setup", ""), ("test-fast", "")])
def test_a_target_installs_what_it_needs(target, extras, clone):
    assert made(clone, target)[0] == f"install.py{extras}"


@pytest.mark.parametrize("mistake", [False, True])
def test_make_test_leaves_nothing_in_the_temporary_folder(mistake, clone, monkeypatch):
    if mistake:
        (clone / "a-mistake").touch()
    place = clone / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    assert made(clone, "test")[1:] == (["tests", "failed"] if mistake else ["tests"] * 3)
    assert list(place.iterdir()) == []


# What the README and the guides say


def written(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows(name: str) -> str:
    """The first cells of the tables of a page."""
    return "\n".join(re.findall(r"^\| (.+?) \|", written(name), re.M))


def test_library_example_of_the_readme_prints_what_it_says(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", written("README.md"), re.S)
    names = {}
    exec(example, names)
    assert capsys.readouterr().out == "door\n" and "# door" in example
    assert names["out"].logits.shape[-1] == names["tok"].vocab_size
    assert names["out"].attentions[0].ndim == 4


def test_training_loop_of_the_guide_trains(batch):
    """Its batches are those of any loader; the loss of the first one goes down."""
    (loop,) = re.findall(r"```python\n(.*?)```", written("docs/models.md"), re.S)
    losses = []
    one = batch | {"labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}
    names = {"batches": [one | {"next_sentence_label": torch.tensor([0, 1, 0])}] * 6, "losses": losses}
    torch.manual_seed(0)
    exec(loop.replace("lr=1e-4", "lr=1e-3").replace(".loss\n", ".loss\n    losses.append(loss.item())\n"), names)
    assert len(losses) == 6 and losses[-1] < losses[0] - 0.5


COMMANDS = [
    command
    for block in re.findall(r"```sh\n(.*?)```", written("docs/commands.md"), re.S)
    for command in re.findall(r"^bertlab ([^#\n]*[^#\s])", block, re.M)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_guide_exist(command, capsys):
    first, second, *_ = arguments = [*command.split(), ""]
    with pytest.raises(SystemExit) as ended:
        main([first, second, "--help"] if second in SECOND.get(first, {}) else [first, "--help"])
    shown = capsys.readouterr()
    assert ended.value.code == 0, shown.err
    options = [argument for argument in arguments if argument.startswith("--")]
    assert [option for option in options if option not in shown.out] == []


def test_the_guide_has_every_command():
    written_ones = {command.split()[0] for command in COMMANDS}
    assert written_ones == {each.__name__.lower() for each in Command.__args__}
    assert {second for within in SECOND.values() for second in within} <= {c.split()[1] for c in COMMANDS if " " in c}


def test_the_map_of_the_course_lists_the_chapters():
    listed = re.findall(r"\]\(([\w-]+\.ipynb)\)", rows("notebooks/README.md"))
    assert listed == [path.name for path in NOTEBOOKS]


def test_the_guide_lists_the_bundled_models():
    listed = [name for cell in rows("docs/models.md").splitlines() for name in re.findall("`([^`]+)`", cell)]
    assert sorted(listed) == bundled_models()


def test_the_guide_lists_the_pages_of_the_explorer():
    listed = re.findall(r"^\[(.+)\]\(#", rows("docs/explorer.md"), re.M)
    assert sorted(listed) == sorted(title for title, _ in PAGES.values())


# What is committed


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_chapter_is_committed_as_one_clean_run(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code" and "".join(c["source"]).strip()]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert "widgets" not in notebook["metadata"]
    for cell in cells:
        failed = any(output["output_type"] == "error" for output in cell["outputs"])
        assert not failed or "raises-exception" in cell["metadata"].get("tags", []), cell["source"]
        home = re.search(r"/(?:root|home|work|Users)/\w+", json.dumps(cell["outputs"]))
        assert not home, f"{home[0]} in the output of {cell['source']}"


def test_repository_stays_small():
    assert sum(path.stat().st_size for path in tracked_files()) < 125e6


def test_no_file_names_a_folder_of_one_machine():
    own = re.compile(rb"(?<![\w.])/(?:root|work)/")
    found = [path for path in tracked_files() if path.name != "LICENSE" and own.search(path.read_bytes())]
    assert found == []
