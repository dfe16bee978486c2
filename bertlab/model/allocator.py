"""Memory that a training step frees is kept for the next one."""

import ctypes
import sys
from contextlib import suppress
from functools import cache

# of mallopt, as in glibc's malloc.h
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


@cache
def keep_memory() -> None:
    """Tell glibc not to return large blocks to Linux: fetching them anew, page by page, takes a tenth of a step.

    It holds for the whole process, once. Elsewhere, and under another allocator, this changes nothing.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
