import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.nbval_figures import as_saved

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("found", "saved", "alike"),
    [
        ("0.68 of 500 right", "0.71 of 500 right", True),
        ("0.68 of 500 right", "0.79 of 500 right", False),
        ("0.68 of 500 right", "0.71 of 400 right", False),
        ("loss 31.2", "loss 29.0", True),
        ("1,052 words", "998 words", True),
        ("TF-IDF   9.5\nBERT    10.1", "TF-IDF  10.1\nBERT     9.6", True),
        ("2e-07 apart", "1.3e-06 apart", True),
        ("100%", "92%", True),
        ("70%", "58%", False),
        ("8 of 25", "7 of 25", False),
        ("gain -0.02", "gain +0.02", True),
        ("gain -0.2", "gain +0.2", False),
        ("BERT is ahead, 0.68", "TF-IDF is ahead, 0.68", False),
        ("0.68", "0.68 0.70", False),
    ],
)
def test_words_are_compared_exactly_and_figures_within_a_tenth(found, saved, alike):
    assert (as_saved(found, saved) == saved) is alike


@pytest.mark.slow
def test_a_tagged_cell_fails_where_a_figure_or_a_word_is_another(tmp_path):
    def cell(source, saved, *tags):
        outputs = [new_output("stream", name="stdout", text=f"{saved}\n")]
        return new_code_cell(source, outputs=outputs, execution_count=1, metadata={"tags": list(tags)})

    cells = [
        cell("print('right: 0.68')", "right: 0.71", "within-a-tenth"),
        cell("print('right: 0.68')", "right: 0.90", "within-a-tenth"),
        cell("print('right: 0.68')", "wrong: 0.68", "within-a-tenth"),
        cell("print('right: 0.68')", "right: 0.71"),
    ]
    path = tmp_path / "figures.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    options = [
        "--nbval",
        "--nbval-current-env",
        *"-p no:randomly -p no:cacheprovider -v --rootdir".split(),
        str(tmp_path),
    ]
    command = [sys.executable, "-m", "pytest", "-p", "conftest", *options, str(path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    verdicts = re.findall(r"Cell \d (PASSED|FAILED)", done.stdout)
    assert verdicts == ["PASSED", "FAILED", "FAILED", "FAILED"], done.stdout + done.stderr
