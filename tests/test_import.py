"""`import bertlab` is that of this checkout and stays light: what a first import loads, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

import bertlab
from tests.forked import forks

ROOT = Path(__file__).parent.parent
HEAVY = set(
    """transformers streamlit altair sklearn scipy pandas matplotlib datasets huggingface_hub
    tyro IPython ipywidgets captum""".split()
)


FIRST = {
    "bertlab": "",
    "model": "bertlab.BertModel.from_pretrained('storyworld-tiny')",
    "command": "import bertlab.cli.main",
    "pretrain": "import bertlab.training.pretrain",
    "finetune": "import bertlab.training.finetune",
}
LOADED = """import os, sys, bertlab
for code in sys.argv[1:]:
    if not os.fork():
        exec(code)
        print(*sys.modules, flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """The modules in memory after `import bertlab` and one more thing, each in a process forked after the former."""
    done = subprocess.run([sys.executable, "-c", LOADED, *FIRST.values()], capture_output=True, text=True, check=True)
    return dict(zip(FIRST, (set(line.split()) for line in done.stdout.splitlines()), strict=True))


def test_this_checkout_is_tested_in_processes_too(tmp_path):
    command = [sys.executable, "-c", "import importlib.util; print(importlib.util.find_spec('bertlab').origin)"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(bertlab.__file__) == Path(found) == ROOT / "bertlab" / "__init__.py"


@forks
def test_import_is_light(loaded):
    assert "bertlab" in loaded["bertlab"] and not HEAVY & loaded["bertlab"]


@forks
def test_loading_a_model_is_light(loaded):
    """Drawing numbers on the "meta" device would import a compiler's worth of modules."""
    assert "safetensors" in loaded["model"] and "sympy" not in loaded["model"]


SLOW = """transformers datasets scipy bertlab.corpora.storyworld bertlab.corpora.english bertlab.evaluation
bertlab.explain bertlab.predict bertlab.training.pretrain bertlab.training.finetune""".split()


@forks
def test_help_waits_for_nothing_slow(loaded):
    assert "bertlab.cli.main" in loaded["command"] and not loaded["command"] & set(SLOW)


# What only some trainings need: examples made here, formats, baselines of a report, adapters, the hub, a teacher.
SOMETIMES = """storyworld docstring_pairs tabular records conll squad hub_datasets baselines lora adapter_config hub
distill chinese""".split()


@forks
@pytest.mark.parametrize("training", ["pretrain", "finetune"])
def test_a_training_imports_what_every_run_of_it_needs(training, loaded):
    names = [name.rpartition(".")[2] for name in loaded[training] if name.startswith("bertlab.")]
    needed = {"chinese"} if training == "finetune" else set()  # by which answers in Chinese are scored
    assert training in names and set(SOMETIMES) & set(names) == needed
