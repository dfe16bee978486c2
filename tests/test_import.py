"""`import bertlab` is that of this checkout and stays light: what a first import loads, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import bertlab

ROOT = Path(__file__).parent.parent
HEAVY = set(
    """transformers streamlit altair sklearn scipy pandas matplotlib datasets lightning lightning_fabric
    huggingface_hub tyro IPython ipywidgets captum""".split()
)


def loaded_by(code: str) -> set[str]:
    """The modules in memory after `code`."""
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_this_checkout_is_tested_in_processes_too(tmp_path):
    command = [sys.executable, "-c", "import importlib.util; print(importlib.util.find_spec('bertlab').origin)"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(bertlab.__file__) == Path(found) == ROOT / "bertlab" / "__init__.py"


def test_import_is_light():
    assert not HEAVY & loaded_by("import bertlab")


def test_loading_a_model_is_light():
    """Drawing numbers on the "meta" device would import a compiler's worth of modules."""
    assert "sympy" not in loaded_by("import bertlab; bertlab.BertModel.from_pretrained('storyworld-tiny')")
