"""`import bertlab` stays light: what a first import loads, in a process of its own."""

import subprocess
import sys

HEAVY = set(
    """transformers streamlit altair sklearn scipy pandas matplotlib datasets lightning lightning_fabric
    huggingface_hub tyro IPython ipywidgets captum""".split()
)


def loaded_by(code: str) -> set[str]:
    """The modules in memory after `code`."""
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_import_is_light():
    assert not HEAVY & loaded_by("import bertlab")


def test_loading_a_model_is_light():
    """Drawing numbers on the "meta" device would import a compiler's worth of modules."""
    assert "sympy" not in loaded_by("import bertlab; bertlab.BertModel.from_pretrained('storyworld-tiny')")
