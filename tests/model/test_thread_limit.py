"""No more threads than OMP_THREAD_LIMIT allows: beyond it PyTorch computes products in bfloat16 in part."""

import os
import subprocess
import sys

import pytest

from bertlab.model.cpu import allowed_threads

PRODUCT = """
import torch, bertlab
rows = torch.randn(512, 512, generator=torch.Generator().manual_seed(0)).bfloat16()
apart = (rows @ rows - rows.float() @ rows.float()).abs().max()
print(torch.get_num_threads(), float(apart) < 1)
"""


def test_products_in_bfloat16_are_whole_under_a_thread_limit():
    env = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    command = [sys.executable, "-c", PRODUCT]
    environment = env | {"OMP_THREAD_LIMIT": "1"}
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert printed.split() == ["1", "True"]


@pytest.mark.parametrize("limit, allowed", [(None, 4), ("2", 2), ("8", 4), ("0", 4), ("many", 4), ("", 4)])
def test_no_more_threads_than_the_limit(limit, allowed, monkeypatch):
    monkeypatch.delenv("OMP_THREAD_LIMIT", raising=False)
    if limit is not None:
        monkeypatch.setenv("OMP_THREAD_LIMIT", limit)
    assert allowed_threads(4) == allowed
