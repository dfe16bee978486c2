"""The benchmarks run; their figures are for people to look at."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LOAD = Path(__file__).parents[1] / "benchmarks" / "load.py"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory figures need Linux")
@pytest.mark.parametrize("library", ["bertlab", "transformers"])
def test_loading_is_measured(library, checkpoint):
    command = [sys.executable, LOAD, "--one", library, checkpoint, "2"]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert figures.keys() == {"first", "load", "touched", "peak", "private"}
    assert 0 < figures["load"] <= figures["touched"] and figures["peak"] >= 0
