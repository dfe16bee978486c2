"""A process for a kill to end, forked of the tests' own: at once, where a new Python takes seconds to import PyTorch.

Only for what computes no tensors: threads of PyTorch do not come along.
"""

import sys
from collections.abc import Callable
from multiprocessing import get_context

import pytest

forks = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")


def forked(work: Callable[[], object]):
    """Start it beside this process; nothing is cleaned up when it is killed or ends by os._exit."""
    process = get_context("fork").Process(target=work)
    process.start()
    return process


def exit_code(work: Callable[[], object]) -> int | None:
    """Run it in a process of its own; return how that ended."""
    process = forked(work)
    process.join()
    return process.exitcode
