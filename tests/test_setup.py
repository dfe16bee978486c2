"""The set-up tells one story: what is declared, what is pinned, what each command installs, what is kept."""

import json
import os
import re
import shutil
import subprocess
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
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
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


def test_packages_that_the_course_is_built_on_are_declared():
    promised = "torch tokenizers jupyterlab ipywidgets matplotlib bertviz streamlit nbval".split()
    assert set(promised) <= set(declared())


def test_environment_yml_installs_the_same_set():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    *conda, pip = environment["dependencies"]
    (python,) = (line.removeprefix("python=") for line in conda if line.startswith("python="))
    assert python in Requirement("python" + PROJECT["requires-python"]).specifier
    constraints, package = pip["pip"]
    assert constraints == "-c constraints.txt"
    assert extras_in(re.fullmatch(r"-e \.\[(.*)\]", package)[1]) == EXTRAS


def test_makefile_installs_all_extras():
    (extras,) = re.findall(r"^EXTRAS := (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert extras_in(extras) == EXTRAS


@pytest.mark.parametrize("name", ["Makefile", "docs/install.md", "CONTRIBUTING.md"])
def test_every_install_command_uses_the_constraints(name):
    commands = re.findall(r"pip install (.* -e .*)", (ROOT / name).read_text())
    assert commands
    assert all("-c constraints.txt" in command for command in commands)


def test_ci_runs_the_documented_test_command():
    script = (ROOT / ".ci" / "run").read_text()
    assert script.startswith("#!/usr/bin/env bash\n") and "set -euo pipefail" in script
    assert re.search(r"^exec make test\b", script, re.M)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


# How make keeps .venv

FAKE_PYTHON = """#!/bin/sh
case "$*" in
    *"-m venv"*) echo venv >>log; mkdir -p .venv/bin; cp "$0" .venv/bin/python
                 echo "#!$(pwd -P)/.venv/bin/python" >.venv/bin/pip ;;
    *"-m pip"*)  echo pip >>log; test ! -e no-network ;;
    *"-m pytest"*) echo tests >>log; echo left | tee "$TMPDIR/a" >"$BERTLAB_MY_BERT/my_bert.py"; test ! -e a-mistake ;;
esac
"""


@pytest.fixture
def clone(tmp_path):
    """A folder with the Makefile, where Python only writes down what it is asked for."""
    if os.name == "nt" or not shutil.which("make"):
        pytest.skip("no make here")
    folder = tmp_path / "a clone"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    python = tmp_path / "python"
    python.write_text(FAKE_PYTHON)
    python.chmod(0o755)
    return folder


def make_setup(folder: Path, target: str = "setup") -> list[str]:
    """The steps that `make setup` took, then "failed" if it failed."""
    log = folder / "log"
    log.unlink(missing_ok=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    command = ["make", target, f"PYTHON={folder.parent / 'python'}"]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
    steps = log.read_text().split() if log.exists() else []
    return steps + ["failed"] * (result.returncode != 0)


def test_make_installs_once(clone):
    assert make_setup(clone) == ["venv", "pip"]
    assert make_setup(clone) == []


def test_make_installs_again_after_a_changed_pin(clone):
    make_setup(clone)
    with (clone / "constraints.txt").open("a") as file:
        file.write("one-more==1.0\n")
    assert make_setup(clone) == ["pip"]


def test_make_resumes_an_install_that_failed(clone):
    (clone / "no-network").touch()
    assert make_setup(clone) == ["venv", "pip", "failed"]
    (clone / "no-network").unlink()
    assert make_setup(clone) == ["pip"]


def test_make_does_not_use_the_venv_of_another_clone(clone):
    make_setup(clone)
    moved = clone.rename(clone.parent / "moved")
    assert make_setup(moved) == ["venv", "pip"]


def test_make_replaces_a_venv_whose_python_is_gone(clone):
    make_setup(clone)
    (clone / ".venv" / "bin" / "python").unlink()
    assert make_setup(clone) == ["venv", "pip"]


@pytest.mark.parametrize("mistake", [False, True])
def test_make_test_leaves_nothing_in_the_temporary_folder(mistake, clone, monkeypatch):
    make_setup(clone)
    for name in ("ruff", "mypy"):
        shutil.copy(clone / ".venv" / "bin" / "python", clone / ".venv" / "bin" / name)
    if mistake:
        (clone / "a-mistake").touch()
    place = clone / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    assert make_setup(clone, "test") == (["tests", "failed"] if mistake else ["tests"] * 3)
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
    assert written_ones == {each.__metadata__[0].name for each in Command.__args__}
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
