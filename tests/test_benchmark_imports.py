"""Every benchmark script can still be imported: the names that it takes from the library are there."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.fixture
def folder(monkeypatch):
    """The scripts import each other by their bare names; afterwards these are gone again."""
    monkeypatch.syspath_prepend(FOLDER)
    before = {name: sys.modules.pop(name) for name in SCRIPTS if name in sys.modules}
    yield
    for name in SCRIPTS:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_finds_what_it_imports(name, folder):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("bertlab", "app", *SCRIPTS):
            raise
        pytest.skip(f"{error.name} is not installed")
    assert Path(module.__file__).parent == FOLDER and module.__doc__
