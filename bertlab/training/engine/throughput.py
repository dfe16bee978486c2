"""Means of what was watched during a training, where its time went, and how much of the device it used.

What a step needs is counted by a formula, so that the figure falls when work is wasted, on padding say. What the device
could do is the rate of one large matrix product on it. The quotient is what is called model FLOPs utilization
(Chowdhery et al. 2022, "PaLM", appendix B).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from statistics import fmean

import torch
from torch import Tensor

from bertlab.config import IGNORED, BertConfig
from bertlab.training.engine.devices import product_type
from bertlab.training.engine.micro_batches import Batch

SIDES = {"cuda": 8192, "mps": 4096}  # of the matrices, for some tens of milliseconds


def encoder_operations(config: BertConfig, batch: Batch) -> float:
    """Floating-point operations of a step in the encoder, forward and backward: 6 per weight of the layers and token,
    12 x layers x hidden size x tokens of the text per token for attention. Padding counts nothing.
    """
    layers, width = config.num_hidden_layers, config.hidden_size
    lengths = batch["attention_mask"].flatten(0, -2).sum(1).double()  # (B, S) or (B, C, S) -> (B,) or (B*C,)
    weights = layers * (4 * width**2 + 2 * width * config.intermediate_size)
    return float(6 * weights * lengths.sum() + 12 * layers * width * (lengths**2).sum())


def pretraining_operations(config: BertConfig, batch: Batch) -> float:
    """Those of the encoder, and 6 per weight of the masked-word head and masked token. The pooler and the head of next
    sentences, one product per text, are left out.
    """
    head = config.hidden_size**2 + config.hidden_size * config.vocab_size
    return encoder_operations(config, batch) + 6.0 * head * int((batch["labels"] != IGNORED).sum())


def product_rate(device: torch.device, dtype: torch.dtype, rounds: int = 2) -> float:
    """Floating-point operations per second of one large matrix product, the best of so many rounds."""
    side = SIDES.get(device.type, 768)
    a = torch.ones(side, side, dtype=dtype, device=device)
    best = min(_seconds(a) for _ in range(rounds + 1))  # the first one warms up
    return 2 * side**3 / best


def _seconds(a: torch.Tensor) -> float:
    start = time.perf_counter()
    float((a @ a)[0, 0])  # waits until it is there
    return time.perf_counter() - start


MOST_SKIPPED = 10  # steps in a row without a finite gradient: it will not get better


class Meter:
    """Rows about the steps since the row before, for all processes together.

    `add` only keeps what a step left on the device. `gather`, to be called in all processes at the same step, reads it
    and waits for that.
    """

    def __init__(self, fabric, operations: Callable[[Batch], float] | None = None):
        """`operations` counts what a batch needs; with it each row has the utilisation of the device."""
        self._fabric, self._operations = fabric, operations
        self._possible = self._possible_rate() if operations else 0.0
        self.rows: list[dict[str, float]] = []
        self.names: list[str] = []
        self.skipped = self.skipped_in_a_row = self.step = 0
        self.rate = 0.0
        self._fresh: list[Tensor] = []  # of each step (1 + N,): was its gradient finite; this process's N figures
        self._start = self._last = time.perf_counter()
        self._clear()

    def _possible_rate(self) -> float:
        fabric = self._fabric
        return fabric.world_size * product_rate(fabric.device, product_type(fabric))

    def _clear(self) -> None:
        self._figures: list[list[float]] = []  # of each step that was not skipped, of all processes
        self._tokens = self._needed = self._waited = 0.0

    def waited_for(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches; notes how long each took to come."""
        iterator = iter(batches)
        while True:
            begun = time.perf_counter()
            batch = next(iterator, None)
            self._waited += time.perf_counter() - begun
            if batch is None:
                return
            yield batch

    def add(self, step: int, rate: float, batch: Batch, finite: Tensor, watched: dict[str, Tensor]) -> None:
        """Note a step on the whole `batch`, which is on the CPU."""
        self.step, self.rate, self.names = step, rate, list(watched)
        self._fresh.append(torch.stack([finite.float(), *(figure.float() for figure in watched.values())]))
        self._tokens += int(batch["attention_mask"].sum())
        self._needed += self._operations(batch) if self._operations else 0.0

    def gather(self) -> None:
        """Read the figures of the steps since the last time, summed over the processes."""
        if not self._fresh:
            return
        fresh = torch.stack(self._fresh)  # (T, 1 + N)
        self._fresh = []
        figures = self._fabric.all_reduce(fresh[:, 1:].contiguous(), reduce_op="sum")
        for finite, row in zip(fresh[:, 0].tolist(), figures.tolist(), strict=True):
            self.skipped_in_a_row = 0 if finite else self.skipped_in_a_row + 1
            self.skipped += not finite
            if finite:
                self._figures.append(row)

    @property
    def pending(self) -> bool:
        return bool(self._figures)

    @property
    def diverged(self) -> bool:
        return self.skipped_in_a_row >= MOST_SKIPPED

    def seconds(self) -> float:
        return time.perf_counter() - self._start

    def row(self) -> dict[str, float]:
        """The row of the steps since the last one, as far as they are gathered."""
        means = {name: fmean(values) for name, values in zip(self.names, zip(*self._figures, strict=True), strict=True)}
        now = time.perf_counter()
        passed = now - self._last
        timing = {"seconds": now - self._start, "tokens_per_second": self._tokens / passed}
        if self._operations:
            timing["utilisation"] = self._needed / passed / self._possible
        timing["wait_share"] = self._waited / passed
        self._last = now
        self._clear()
        self.rows.append({"step": self.step, **means, "learning_rate": self.rate, **timing})
        return self.rows[-1]

    def state(self) -> dict:
        """What `go_on` needs: seconds, the rows, and what was gathered since the last of them."""
        pending = {"names": self.names, "figures": list(self._figures), "rate": self.rate}
        return {"seconds": self.seconds(), "rows": list(self.rows), **pending}

    def go_on(self, state: dict) -> None:
        """Count on from where another meter was. The time that passed in between counts for nothing."""
        self._start, self.rows = self._last - state["seconds"], list(state["rows"])
        self.names, self._figures = list(state["names"]), list(state["figures"])
        self.step, self.rate = state["step"], state["rate"]
