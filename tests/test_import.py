"""`import bertlab` is that of this checkout and stays light: what a first import loads, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

import bertlab

ROOT = Path(__file__).parent.parent
HEAVY = set(
    """transformers streamlit altair sklearn scipy pandas matplotlib datasets huggingface_hub
    tyro IPython ipywidgets captum""".split()
)


AFTER = """import sys, bertlab
print(*sys.modules)
bertlab.BertModel.from_pretrained("storyworld-tiny")
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def loaded() -> list[set[str]]:
    """The modules in memory after `import bertlab`, and after a model was loaded."""
    done = subprocess.run([sys.executable, "-c", AFTER], capture_output=True, text=True, check=True)
    return [set(line.split()) for line in done.stdout.splitlines()]


def test_this_checkout_is_tested_in_processes_too(tmp_path):
    command = [sys.executable, "-c", "import importlib.util; print(importlib.util.find_spec('bertlab').origin)"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(bertlab.__file__) == Path(found) == ROOT / "bertlab" / "__init__.py"


def test_import_is_light(loaded):
    assert "bertlab" in loaded[0] and not HEAVY & loaded[0]


def test_loading_a_model_is_light(loaded):
    """Drawing numbers on the "meta" device would import a compiler's worth of modules."""
    assert "safetensors" in loaded[1] and "sympy" not in loaded[1]


# What only some trainings need: examples made here, formats, baselines of a report, adapters, the hub, a teacher.
SOMETIMES = """storyworld docstring_pairs tabular records conll squad hub_datasets baselines lora adapter_config hub
distill chinese""".split()


@pytest.mark.parametrize("training", ["pretrain", "finetune"])
def test_a_training_imports_what_every_run_of_it_needs(training):
    code = f"import sys, bertlab.training.{training}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = [name.rpartition(".")[2] for name in done.stdout.split() if name.startswith("bertlab.")]
    needed = {"chinese"} if training == "finetune" else set()  # by which answers in Chinese are scored
    assert training in names and set(SOMETIMES) & set(names) == needed
