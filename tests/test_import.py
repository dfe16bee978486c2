"""`import bertlab` is that of this checkout and stays light: what a first import loads, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bertlab
from bertlab.model.fast.cpu import allowed_threads

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


PRODUCT = """
import torch, bertlab
rows = torch.randn(512, 512, generator=torch.Generator().manual_seed(0)).bfloat16()
apart = (rows @ rows - rows.float() @ rows.float()).abs().max()
print(torch.get_num_threads(), float(apart) < 1)
"""


@pytest.mark.parametrize("given, threads", [({"OMP_THREAD_LIMIT": "1"}, 1), ({"OMP_NUM_THREADS": "2"}, 2)])
def test_products_in_bfloat16_are_whole_under_a_thread_limit(given, threads):
    env = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")} | given
    command = [sys.executable, "-c", PRODUCT]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout
    assert printed.split() == [str(threads), "True"]


@pytest.mark.parametrize("limit, allowed", [(None, 4), ("2", 2), ("8", 4), ("0", 4), ("many", 4), ("", 4)])
def test_no_more_threads_than_the_limit(limit, allowed, monkeypatch):
    monkeypatch.delenv("OMP_THREAD_LIMIT", raising=False)
    if limit is not None:
        monkeypatch.setenv("OMP_THREAD_LIMIT", limit)
    assert allowed_threads(4) == allowed


def test_loading_a_model_is_light():
    """Drawing numbers on the "meta" device would import a compiler's worth of modules."""
    assert "sympy" not in loaded_by("import bertlab; bertlab.BertModel.from_pretrained('storyworld-tiny')")
