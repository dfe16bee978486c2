"""Batches made ahead of the step, in a process of their own where a GPU would have to wait for them."""

import signal
from collections.abc import Iterable, Iterator
from multiprocessing import get_all_start_methods

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from bertlab.errors import InputError

Batch = dict[str, Tensor]
AHEAD = 16  # batches that lie ready: enough to draw the pairs of the next epoch meanwhile


def ahead(batches: Iterable[Batch], worker: bool) -> Iterator[Batch]:
    """The same batches; with `worker` another process makes them, ahead of time and in pinned memory.

    Close it at the end (contextlib.closing): that ends the process. Ctrl-C is left to the process that trains.
    """
    if not worker:
        yield from batches
        return
    loader = DataLoader(
        _Stream(batches),
        batch_size=None,
        num_workers=1,
        prefetch_factor=AHEAD,
        pin_memory=torch.cuda.is_available(),
        multiprocessing_context="fork",  # shares the text's memory
        worker_init_fn=_ignore_ctrl_c,
        generator=torch.Generator(),  # or it would draw from the one that dropout draws from
    )
    for batch in loader:
        if isinstance(batch, InputError):
            raise batch
        yield batch


def worker_helps(device: str) -> bool:
    """Whether training on `device` leaves a core free for a worker: on a GPU, where the system can fork."""
    return device in ("auto", "cuda") and torch.cuda.is_available() and "fork" in get_all_start_methods()


class _Stream(IterableDataset):
    def __init__(self, batches: Iterable[Batch]):
        self.batches = batches

    def __iter__(self) -> Iterator[Batch | InputError]:
        try:
            yield from self.batches
        except InputError as error:  # as a value: raised, it would arrive with a traceback in its message
            yield error


def _ignore_ctrl_c(_) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
