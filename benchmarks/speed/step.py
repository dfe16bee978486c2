"""How long one training step takes and how much memory, beside transformers and torch's encoder on the same batch.

    python benchmarks/speed/step.py                      # tiny, mini and base, on the processor
    python benchmarks/speed/step.py --sizes tiny --rounds 20

A step is forward, the losses of masked words and next sentences, backward, and AdamW; dropout 0.1, 128 tokens of
which 80% are filled, a vocabulary of 30,522. Each contestant has a process of its own, and they take turns step by
step, so other work on the machine slows all of them.

- "transformers" is its BertForPreTraining as it comes, in a plain loop; "memory kept" the same with an
  allocator that keeps freed memory, as it does in bertlab's own process; "bfloat16" the same under autocast.
- nn.TransformerEncoder has embeddings, tied decoder and next-sentence layer around it.
- "bertlab, loop of your own" is the loop of docs/models.md in float32; the last two are steps of `bertlab pretrain`. A
  star marks the precision that it measures to be the faster one here, and so takes by itself.

"times transformers" is the median over rounds of the ratio to transformers as it comes, in brackets its quartiles; the
next column the same against the fastest row of transformers in the same precision. MB are what the steps add at most to
the program and the weights (Linux only). GFLOP/s count what the step needs, as training/engine/throughput.py says;
"of one product" is their share of the rate of one large float32 or bfloat16 matrix product, taken in every round too.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from benchmarks.speed.step_worker import CONTESTANTS, SIZES, VOCABULARY, make_batch
from bertlab import BertConfig
from bertlab.training.engine.precision import Products, choose
from bertlab.training.engine.throughput import pretraining_operations, product_rate

WARM = 2  # rounds that are not timed
REFERENCE = "transformers"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Contestant:
    """A process of benchmarks/speed/step_worker.py."""

    def __init__(self, name: str, size: str):
        own = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")  # what bertlab has set for this process and its children
        environment = {key: value for key, value in os.environ.items() if key not in own}
        command = [sys.executable, Path(__file__).with_name("step_worker.py"), name, size]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, text=True, env=environment, **pipes)
        self.seconds: list[float] = []
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"{name}, {size}: its process ended at the start")

    def step(self) -> None:
        print("", file=self.process.stdin, flush=True)
        self.seconds.append(float(self.process.stdout.readline()))

    def end(self) -> float:
        """The MB that its steps took."""
        return float(self.process.communicate()[0])


def race(size: str, count: int) -> tuple[dict[str, list[float]], dict[str, float], dict[str, float]]:
    """Seconds of each contestant in each round, MB of each, and GFLOP/s of one matrix product by type."""
    contestants = {name: Contestant(name, size) for name in CONTESTANTS}
    rates: dict[str, list[float]] = {name: [] for name in DTYPES}
    for _ in tqdm(range(count + WARM), desc=size, leave=False):
        for contestant in contestants.values():
            contestant.step()
        for name, dtype in DTYPES.items():
            rates[name].append(product_rate(torch.device("cpu"), dtype) / 1e9)
    seconds = {name: contestant.seconds[WARM:] for name, contestant in contestants.items()}
    peaks = {name: contestant.end() for name, contestant in contestants.items()}
    return seconds, peaks, {name: statistics.median(values) for name, values in rates.items()}


def type_of(name: str) -> str:
    return "bfloat16" if "bfloat16" in name else "float32"


def ratios(own: list[float], other: list[float]) -> str:
    found = [theirs / ours for theirs, ours in zip(other, own, strict=True)]
    low, middle, high = statistics.quantiles(found, n=4) if len(found) > 1 else found * 3
    return f"{middle:.1f} ({low:.1f} to {high:.1f})"


def best_rival(seconds: dict[str, list[float]], kind: str) -> str:
    """The fastest row of transformers in this type."""
    rows = [name for name in seconds if name.startswith(REFERENCE) and type_of(name) == kind]
    return min(rows, key=lambda name: statistics.median(seconds[name]))


def compare(size: str, count: int, table: Table) -> dict[str, float]:
    """A row of the table for each contestant; returns GFLOP/s of one matrix product meanwhile."""
    config, batch = BertConfig.from_size(size, vocab_size=VOCABULARY), make_batch(size)
    tokens, needed = int(batch["attention_mask"].sum()), pretraining_operations(config, batch)
    chosen = choose("auto", "cpu", Products(tokens, config.hidden_size, config.intermediate_size))
    seconds, peaks, rates = race(size, count)
    for name, values in seconds.items():
        middle = statistics.median(values)
        star = " *" if name == f"bertlab, {chosen.format}" else ""
        figures = f"{1000 * middle:,.0f}", f"{tokens / middle:,.0f}", f"{needed / middle / 1e9:,.0f}"
        share = f"{needed / middle / 1e9 / rates[type_of(name)]:.0%}"
        rival = best_rival(seconds, type_of(name))
        table.add_row(
            *(size, name + star, *figures, share, f"{peaks[name]:,.0f}"),
            "" if name == REFERENCE else ratios(values, seconds[REFERENCE]),
            "" if name.startswith(REFERENCE) else ratios(values, seconds[rival]),
        )
    table.add_section()
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["tiny", "mini", "base"])
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    headings = ("size", "", "ms a step", "tokens/s", "GFLOP/s", "of one product", "MB", "times transformers")
    table = Table(*headings, "in the same precision", box=None)
    rates = {size: compare(size, options.rounds, table) for size in options.sizes}
    console = Console(width=140)
    console.print(table)
    console.print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; one matrix product meanwhile:")
    for size, found in rates.items():
        console.print(f" {size:<5}", ", ".join(f"{rate:,.0f} GFLOP/s in {name}" for name, rate in found.items()))


if __name__ == "__main__":
    main()
