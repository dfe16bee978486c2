"""Where the time of a float32 training step goes, by kind of operation: what the shares in the step table leave out.

    python benchmarks/speed/where_time_goes.py                 # tiny, mini and base
    python benchmarks/speed/where_time_goes.py --precision bfloat16

The step is that of benchmarks/speed/step.py under `bertlab pretrain`, watched by torch.profiler, which itself slows it
a little. Each row is a kind of operation, in ms a step and as a share of all. "products needed" are the operations that
the step needs over the rate of one large matrix product: the least that any program with these products could take. The
products of a small model take longer than that: a narrow matrix cannot feed the processor as fast as a square one.
"""

import argparse
from collections import Counter

import torch
from rich.console import Console
from rich.table import Table
from torch.profiler import ProfilerActivity, profile

from benchmarks.speed.step_worker import SIZES, VOCABULARY, make_batch, our_trainer
from bertlab import BertConfig
from bertlab.training.engine.throughput import pretraining_operations, product_rate

STEPS = 5
KINDS = {
    "products": "mm addmm bmm baddbmm addmv_ mkldnn_linear",
    "copies and new memory": "copy_ fill_ zero_ cat index_select index_copy index_copy_ empty empty_strided",
    "softmax and its sums": "_softmax _softmax_backward_data exp_ exp amax sum sub_ log gather index_add_",
    "random numbers of dropout": "random_ ge",
    "sums and factors (residual, dropout)": "add add_ mul mul_ div div_",
    "LayerNorm": "native_layer_norm native_layer_norm_backward",
    "GELU": "gelu gelu_backward",
    "embeddings": "embedding embedding_dense_backward",
    "clipping and AdamW": "_fused_adamw_ linalg_vector_norm _foreach_norm",
}
KIND_OF = {f"aten::{name}": kind for kind, names in KINDS.items() for name in names.split()}


def shares(size: str, precision: str) -> tuple[Counter, float]:
    """(ms a step by kind of operation, ms that the products would take at the rate of a large one)."""
    batch, step = make_batch(size), our_trainer(size, precision)
    for _ in range(3):
        step(batch)
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        for _ in range(STEPS):
            step(batch)
    found = Counter()
    for event in watched.key_averages():
        found[KIND_OF.get(event.key, "other")] += event.self_cpu_time_total / STEPS / 1000
    needed = pretraining_operations(BertConfig.from_size(size, vocab_size=VOCABULARY), batch)
    return found, 1000 * needed / product_rate(torch.device("cpu"), getattr(torch, precision), rounds=5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["tiny", "mini", "base"])
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    options = parser.parse_args()
    table = Table("", *options.sizes, box=None)
    found = {size: shares(size, options.precision) for size in options.sizes}
    for kind in [*KINDS, "other"]:
        table.add_row(kind, *(f"{ms[kind]:,.0f} ms ({ms[kind] / ms.total():.0%})" for ms, _ in found.values()))
    table.add_row("all", *(f"{ms.total():,.0f} ms" for ms, _ in found.values()))
    table.add_row("products needed", *(f"{least:,.0f} ms ({least / ms.total():.0%})" for ms, least in found.values()))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
