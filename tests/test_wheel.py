"""The wheel, installed far from any clone, is all of bertlab: models by name, the command, the explorer's files."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bertlab.io.locate import bundled_models

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


def run(*command, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built with the build backend that is installed, so without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (wheel,) = folder.glob("bertlab-*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A bare folder with the wheel alone; what it depends on comes from the running Python."""
    target = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-index", "--no-cache-dir", "--disable-pip-version-check", "--target", target]
    run(sys.executable, "-m", "pip", "install", "--quiet", *options, wheel, cwd=target)
    return target


def test_the_wheel_holds_every_tracked_file_of_the_package(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, tracked.stdout.split("\0")):
        folder, _, rest = name.partition("/")
        if rest and folder in ("bertlab", "data", "app", "notebooks") and (ROOT / name).exists():
            inside = {"bertlab": "", "app": "bertlab/explorer/"}.get(folder, "bertlab/")
            assert f"{inside}{name}" in names
    assert not [name for name in names if name.split("/")[0] != "bertlab" and ".dist-info/" not in name]
    assert wheel.stat().st_size < 99e6


def test_bundled_models_load_by_name(installed, tmp_path):
    code = """
import json, bertlab, torch
from bertlab import BertForPreTraining, Tokenizer
from bertlab.io.locate import bundled_models
model, tok = (kind.from_pretrained("storyworld-tiny") for kind in (BertForPreTraining, Tokenizer))
shape = list(model(**tok(["my dog is hairy"])).prediction_logits.shape)
print(json.dumps([bertlab.__file__, bundled_models(), shape, tok.vocab_size]))
"""
    out = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(installed))
    file, models, shape, vocab_size = json.loads(out)
    assert Path(file).is_relative_to(installed)
    assert models == bundled_models() and "storyworld-tiny" in models
    assert shape[0] == 1 and shape[2] == vocab_size


def test_the_command_predicts(installed, tmp_path):
    """With an adapter, which needs the model that it was trained on, too."""
    arguments = ("--question", "Who cut the leeks?", "--passage", "Mark cut the leeks. Ruth sang.")
    command = installed / ("Scripts/bertlab.exe" if os.name == "nt" else "bin/bertlab")
    rows = json.loads(run(command, "predict", *arguments, "--json", cwd=tmp_path, PYTHONPATH=str(installed)))
    assert rows and all(0 < row["probability"] <= 1 for row in rows)


def test_the_explorer_the_chapters_and_the_mark_of_types_are_found(installed, tmp_path):
    assert (installed / "bertlab" / "py.typed").is_file()
    assert (installed / "bertlab" / "explorer" / "app" / "explore.py").is_file()
    chapters = sorted(path.name for path in (installed / "bertlab" / "notebooks").glob("*.ipynb"))
    assert chapters == sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
