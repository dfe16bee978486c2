"""What helps a CPU: memory that is kept, no more threads than there may be, and dropout from few random numbers."""

import ctypes
import os
import sys
from contextlib import suppress
from functools import cache

import torch
from torch import Tensor, nn

from bertlab.model.base import is_recorded

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


def allowed_threads(count: int) -> int:
    """Return `count`, or what OMP_THREAD_LIMIT allows if that is less.

    Where PyTorch counts on more threads than OpenMP may start, oneDNN leaves parts of a product in bfloat16 at zero,
    and nothing says so.
    """
    limit = os.environ.get("OMP_THREAD_LIMIT", "").strip()
    return min(count, int(limit)) if limit.isdecimal() and int(limit) else count


def limit_threads() -> None:
    """Let PyTorch count on no more threads than there may be."""
    if (allowed := allowed_threads(torch.get_num_threads())) < torch.get_num_threads():
        torch.set_num_threads(allowed)


STEPS = 2**16  # what 16 random bits can tell apart


class Dropout(nn.Dropout):
    """nn.Dropout; on CPU each number gets 16 random bits, of which four numbers share a draw.

    So the chance to be dropped is `p` to the nearest 1/65,536, and what stays is scaled by just that chance.
    """

    def forward(self, x: Tensor) -> Tensor:
        dropped = round(self.p * STEPS)
        if not self.training or x.device.type != "cpu" or not 0 < dropped < STEPS or is_recorded():
            return super().forward(x)
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int16)[: x.numel()].view(x.shape)  # -32,768 to 32,767
        keep = bits >= dropped - STEPS // 2
        return x * keep.to(x.dtype).mul_(STEPS / (STEPS - dropped))
