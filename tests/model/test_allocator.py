"""Memory that the allocator keeps for the next step."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, torch
from bertlab.model.cpu import keep_memory

def faults():
    torch.empty(10_000_000).fill_(1.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.empty(10_000_000).fill_(1.0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(faults())
keep_memory()
print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a matter of glibc")
def test_freed_memory_is_kept_for_the_next_step():
    """Pages asked of the system while a fresh process fills 40 MB twenty times over, before and after.

    Where the heap lies decides whether a block fits into the one before: the first few may still be new.
    """
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    given_back, kept = map(int, done.stdout.split())
    assert kept < 0.5 * given_back, f"{kept} page faults, {given_back} when memory is given back"
