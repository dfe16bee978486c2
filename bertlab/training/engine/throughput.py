"""The log of a training: means of its figures, where the time went, and how much of the device it used.

What a step needs is counted by a formula, so wasted work, such as padding, lowers the utilisation. What the device can
do is measured: the rate of one large matrix product on it. The quotient is called model FLOPs utilization (Chowdhery et
al. 2022, "PaLM", appendix B).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from bertlab.config import IGNORED, BertConfig
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.micro_batches import Batch

Row = dict[str, float]
SIDES = {"cuda": 8192, "mps": 4096}  # of the matrices, for some tens of milliseconds


def layer_matrices(config: BertConfig) -> int:
    """Return how many numbers the matrices of one layer hold."""
    products = 3 if config.gated_feed_forward else 2  # of the feed-forward network
    return 4 * config.hidden_size**2 + products * config.hidden_size * config.intermediate_size


def operations_by_part(config: BertConfig, tokens: float, pairs: float, labels: float) -> dict[str, float]:
    """Count the floating-point operations of a step, forward and backward: part -> number.

    6 for each weight of the layers and token, 12 x layers x hidden size for each pair of tokens that attention compares
    (of a text of n tokens: n squared), and 6 for each weight of the masked-word head and label. The pooler and the
    next-sentence head, one product for each text, are left out.
    """
    layers, width = config.num_hidden_layers, config.hidden_size
    weights = layers * layer_matrices(config)
    head = width**2 + width * config.vocab_size
    return {
        "layers": 6.0 * weights * tokens,
        "attention": 12.0 * layers * width * pairs,
        "masked-word head": 6.0 * head * labels,
    }


def encoder_operations(config: BertConfig, batch: Batch) -> float:
    """Count the operations of a step in the encoder. Padding counts nothing."""
    lengths = batch["attention_mask"].flatten(0, -2).sum(1).double()  # (B, S) or (B, C, S) -> (B,) or (B*C,)
    return sum(operations_by_part(config, float(lengths.sum()), float((lengths**2).sum()), 0).values())


def pretraining_operations(config: BertConfig, batch: Batch) -> float:
    """Count those of the encoder and of the masked-word head."""
    labels = int((batch["labels"] != IGNORED).sum())
    return encoder_operations(config, batch) + operations_by_part(config, 0, 0, labels)["masked-word head"]


def product_rate(device: torch.device, dtype: torch.dtype, rounds: int = 2) -> float:
    """Measure the floating-point operations per second of one large matrix product, the best of so many rounds."""
    side = SIDES.get(device.type, 768)
    a = torch.ones(side, side, dtype=dtype, device=device)
    best = min(_seconds(a) for _ in range(rounds + 1))  # the first one warms up
    return 2 * side**3 / best


def _seconds(a: Tensor) -> float:
    start = time.perf_counter()
    float((a @ a)[0, 0])  # waits until it is there
    return time.perf_counter() - start


MOST_SKIPPED = 10  # steps in a row without a finite gradient: it will not get better


class TrainingLog:
    """The rows of a training: each holds means over the steps since the row before, of all processes together.

    `add` only keeps what a step left on the device. `gather`, which all processes call at the same step, reads it and
    waits for it.
    """

    def __init__(self, devices: Devices, operations: Callable[[Batch], float] | None = None):
        """`operations` counts what a batch needs; with it each row has the utilisation of the device."""
        self._devices, self._operations = devices, operations
        self._possible = 0.0  # operations per second
        if operations:
            self._possible = devices.world_size * product_rate(devices.device, devices.product_type)
        self.rows: list[Row] = []
        self.names: list[str] = []
        self.skipped = self.skipped_in_a_row = self.step = 0
        self.rate = 0.0
        self._fresh: list[Tensor] = []  # of each step (1 + N,): was its gradient finite; this process's N figures
        self._start = self._last = time.perf_counter()
        self._clear()

    def _clear(self) -> None:
        self._figures: list[list[float]] = []  # of each step that was not skipped, of all processes
        self._tokens = self._needed = self._waited = 0.0

    def timed(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches, and count the time spent waiting for them."""
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
        """Read the figures of the steps since the last call, summed over the processes."""
        if not self._fresh:
            return
        fresh = torch.stack(self._fresh)  # (T, 1 + N)
        self._fresh = []
        figures = self._devices.all_reduce(fresh[:, 1:])
        for finite, row in zip(fresh[:, 0].tolist(), figures.tolist(), strict=True):
            self.skipped_in_a_row = 0 if finite else self.skipped_in_a_row + 1
            self.skipped += not finite
            if finite:
                self._figures.append(row)

    @property
    def diverged(self) -> bool:
        return self.skipped_in_a_row >= MOST_SKIPPED

    def seconds(self) -> float:
        """Return the seconds of the training, those before a kill included."""
        return time.perf_counter() - self._start

    def end_row(self) -> Row | None:
        """Add and return the row of the steps since the last one; None if no figures of any were gathered."""
        if not self._figures:
            return None
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

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs: seconds, the rows, and what was gathered since the last of them."""
        pending = {"names": self.names, "figures": list(self._figures), "rate": self.rate}
        return {"seconds": self.seconds(), "rows": list(self.rows), **pending}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the state of another log. The time that passed in between does not count."""
        self._start, self.rows = self._last - state["seconds"], list(state["rows"])
        self.names, self._figures = list(state["names"]), list(state["figures"])
        self.step, self.rate = state["step"], state["rate"]
