"""Cut a batch into micro-batches of rows, for several processes or little memory. Together they teach what it teaches.

A loss is a mean over labels, and the micro-batches of a batch hold different numbers of labels. So each one knows its
share of every kind of label: its mean x its share, summed over the micro-batches, is the mean of the whole batch.
"""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from bertlab.config import IGNORED

Batch = dict[str, Tensor]


class Shares(dict[str, float]):
    """By name of a tensor: the share of the batch's labels that a micro-batch holds. An uncut batch holds all: 1."""

    def __missing__(self, name: str) -> float:
        return 1.0


WHOLE = Shares()


class MicroBatch(NamedTuple):
    """Some rows of a batch, and their share of its labels."""

    batch: Batch
    shares: Shares


def micro_batches(batch: Batch, count: int) -> Iterator[MicroBatch]:
    """Cut `batch` into `count` micro-batches whose sizes differ by one row at most; some are empty if rows are few."""
    whole = {name: count_labels(tensor) for name, tensor in batch.items()}
    pieces = {name: tensor.tensor_split(count) for name, tensor in batch.items()}
    for number in range(count):
        rows = {name: pieces[name][number] for name in batch}
        shares = {name: count_labels(tensor) / max(whole[name], 1) for name, tensor in rows.items()}
        yield MicroBatch(rows, Shares(shares))


def count_labels(tensor: Tensor) -> int:
    """Count the labels: classes other than -100; in a tensor of floats every number is one, -100.0 too."""
    return tensor.numel() if tensor.is_floating_point() else int((tensor != IGNORED).sum())


def own_micro_batches(batch: Batch, rank: int, processes: int, micro_batch: int | None) -> list[MicroBatch]:
    """Return what process `rank` computes of the whole `batch`, at most `micro_batch` rows at a time.

    Of a batch with fewer rows than there are processes some compute the first row, whose share then is 0: every process
    must take part in the exchange of gradients.
    """
    most = -(-len(next(iter(batch.values()))) // processes)
    rounds = -(-most // micro_batch) if micro_batch else 1
    own = list(micro_batches(batch, processes * rounds))[rank::processes]
    nothing = MicroBatch({name: tensor[:1] for name, tensor in batch.items()}, Shares(dict.fromkeys(batch, 0.0)))
    return [one for one in own if len(next(iter(one.batch.values())))] or [nothing]
