"""How well `bertlab info plan` predicts the time of a training step on this machine.

    python benchmarks/speed/plan.py                        # tiny, mini and base
    python benchmarks/speed/plan.py --sizes tiny --precision bfloat16

For each size the plan times passes of models with one and two layers. Then the whole model takes steps as `bertlab
pretrain` does: texts of 128 positions, 80% filled, dropout 0.1, a vocabulary of 30,522. Both on one thread in seconds
of the processor, of which other programs take none; of the steps the median, in brackets least and greatest.
"rate of a product" is the guess without a plan: the operations needed over the rate of one large matrix product.
"""

import argparse
import statistics
import time

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.speed.step_worker import BATCH, FILL, SIZES, TOKENS
from bertlab.training.plan import Job, config_of
from bertlab.training.plan.here import TimedModel, choose_here, make_batch, measure


def product_rate(dtype: torch.dtype, side: int = 768) -> float:
    """Operations per second of the processor in one large product, the best of some."""
    a, times = torch.ones(side, side, dtype=dtype), []
    for _ in range(10):
        start = time.process_time()
        a @ a
        times.append(time.process_time() - start)
    return 2 * side**3 / min(times)


def compare(size: str, precision: str, rounds: int) -> tuple[str, ...]:
    """A row of the table."""
    clock = time.process_time
    config, rows = config_of(size), BATCH.get(size, 32)
    job, devices, _ = choose_here(Job(config, batch_size=rows, max_tokens=TOKENS, fill=FILL), precision)
    start = clock()
    predicted = sum(measure(job, devices, clock).step(job).values())
    taken = clock() - start
    model, batch = TimedModel(job, config.num_hidden_layers, devices, clock), make_batch(job, rows)
    steps = [model.gradients(batch) + model.update() for _ in range(rounds + 1)][1:]
    guess = sum(job.needed(rows).values()) / product_rate(getattr(torch, job.precision))
    middle = statistics.median(steps)
    spread = f"{1000 * middle:,.0f} ({1000 * min(steps):,.0f} to {1000 * max(steps):,.0f})"
    of_all = f"{predicted / middle - 1:+.0%}", f"{1000 * guess:,.0f}", f"{guess / middle - 1:+.0%}", f"{taken:.1f}"
    return size, job.precision, spread, f"{1000 * predicted:,.0f}", *of_all


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["tiny", "mini", "base"])
    parser.add_argument("--precision", choices=["auto", "float32", "bfloat16"], default="float32")
    parser.add_argument("--rounds", type=int, default=3, help="steps of the whole model that are timed")
    options = parser.parse_args()
    torch.set_num_threads(1)
    columns = ["", "precision", "a step, ms", "plan, ms", "off by", "rate of a product, ms", "off by", "plan took, s"]
    table = Table(*columns, box=None)
    for size in options.sizes:
        table.add_row(*compare(size, options.precision, options.rounds))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
