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
            assert (f"{inside}{name}" in names) != name.startswith(("data/make/", "data/english/more/")), name
    assert not [name for name in names if name.split("/")[0] != "bertlab" and ".dist-info/" not in name]
    assert wheel.stat().st_size < 99e6


ALONE = """
import json, runpy, sys, bertlab
from bertlab import BertForPreTraining, Tokenizer
from bertlab.io.locate import bundled_models
model, tok = (kind.from_pretrained("storyworld-tiny") for kind in (BertForPreTraining, Tokenizer))
shape = list(model(**tok(["my dog is hairy"])).prediction_logits.shape)
print(json.dumps([bertlab.__file__, bundled_models(), shape, tok.vocab_size]))
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_models_load_by_name_and_the_command_predicts(installed, tmp_path):
    """With an adapter, which needs the model that it was trained on, too."""
    command = installed / "bin" / "bertlab"
    assert os.access(command, os.X_OK)
    arguments = ("--question", "Who cut the leeks?", "--passage", "Mark cut the leeks. Ruth sang.", "--json")
    out = run(sys.executable, "-c", ALONE, command, "predict", *arguments, cwd=tmp_path, PYTHONPATH=str(installed))
    told, _, answered = out.partition("\n")
    file, models, shape, vocab_size = json.loads(told)
    assert Path(file).is_relative_to(installed)
    assert models == bundled_models() and "storyworld-tiny" in models
    assert shape[0] == 1 and shape[2] == vocab_size
    rows = json.loads(answered)
    assert rows and all(0 < row["probability"] <= 1 for row in rows)


def test_the_explorer_the_chapters_and_the_mark_of_types_are_found(installed, tmp_path):
    assert (installed / "bertlab" / "py.typed").is_file()
    assert (installed / "bertlab" / "explorer" / "app" / "explore.py").is_file()
    chapters = sorted(path.name for path in (installed / "bertlab" / "notebooks").glob("*.ipynb"))
    assert chapters == sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
