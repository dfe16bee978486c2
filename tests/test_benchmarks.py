"""The benchmarks run; their figures are for people to look at."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

FOLDER = Path(__file__).parents[1] / "benchmarks"
LOAD = FOLDER / "load.py"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory figures need Linux")
@pytest.mark.parametrize("library", ["bertlab", "transformers"])
def test_loading_is_measured(library, checkpoint):
    command = [sys.executable, LOAD, "--one", library, checkpoint, "2"]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert figures.keys() == {"first", "load", "touched", "peak", "private"}
    assert 0 < figures["load"] <= figures["touched"] and figures["peak"] >= 0


def test_tokenizing_is_measured():
    command = [sys.executable, FOLDER / "token_store.py", "--documents", "5", "--rounds", "1"]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split("|")[1].strip() for line in table[2:]] == ["token store", "`datasets.map`"]


def test_steps_are_measured(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import step

    monkeypatch.setattr(step, "VOCABULARY", 2000)
    monkeypatch.setattr(step, "peak_memory", step.grown)  # in this process, which is quicker
    table = Table("size", "", "ms a step", "tokens/s", "GFLOP/s", "MB", "times as fast")
    step.compare("tiny", 1, table)
    names, speeds = (list(table.columns[number].cells) for number in (1, 6))
    assert names == list(step.CONTESTANTS) and speeds[0] == "" and all("to" in speed for speed in speeds[1:])
    assert all(float(cell.replace(",", "")) > 0 for cell in table.columns[4].cells)
