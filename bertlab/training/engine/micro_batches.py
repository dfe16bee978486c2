"""A batch in parts of rows, for several processes or little memory. Together they teach what the whole one teaches.

A loss is a mean over labels, and the parts of a batch hold different numbers of them. So each part knows its share of
every kind of label: mean of the part x share, summed over the parts, is the mean of the whole.
"""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from bertlab.config import IGNORED
from bertlab.errors import InputError

Batch = dict[str, Tensor]


class Shares(dict[str, float]):
    """By name of a tensor: how much of the batch's labels a part holds. A batch that was not cut holds all: 1."""

    def __missing__(self, name: str) -> float:
        return 1.0


WHOLE = Shares()


class Part(NamedTuple):
    """Some rows of a batch."""

    batch: Batch
    shares: Shares


def parts(batch: Batch, count: int) -> Iterator[Part]:
    """`batch` cut into `count` parts whose rows differ by one at most; empty where there are fewer rows."""
    whole = {name: labels(tensor) for name, tensor in batch.items()}
    pieces = {name: tensor.tensor_split(count) for name, tensor in batch.items()}
    for number in range(count):
        part = {name: pieces[name][number] for name in batch}
        yield Part(part, Shares({name: labels(tensor) / max(whole[name], 1) for name, tensor in part.items()}))


def labels(tensor: Tensor) -> int:
    """How many of them count: classes that are not ignored; but any number counts, -100.0 too."""
    return tensor.numel() if tensor.is_floating_point() else int((tensor != IGNORED).sum())


def own_parts(batch: Batch, rank: int, processes: int, micro_batch: int | None) -> list[Part]:
    """What process `rank` computes of the whole `batch`, at most `micro_batch` rows at a time.

    InputError where the batch has fewer rows than there are processes.
    """
    rows = len(next(iter(batch.values())))
    if rows < processes:
        raise InputError(
            f"a batch of {rows} rows cannot be shared among {processes} processes: raise batch_size or give more text"
        )
    most = -(-rows // processes)
    rounds = -(-most // micro_batch) if micro_batch else 1
    own = list(parts(batch, processes * rounds))[rank::processes]
    return [part for part in own if len(next(iter(part.batch.values())))]
