"""Every benchmark script can still be imported: the names that it takes from the library are there."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = ROOT.glob("benchmarks/**/[!_]*.py")
SCRIPTS = sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in FILES)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_finds_what_it_imports(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("bertlab", "app", "benchmarks"):
            raise
        pytest.skip(f"{error.name} is not installed")
    assert module.__doc__
