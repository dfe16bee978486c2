"""How long a BERT takes to load and how much memory, beside transformers.

    python benchmarks/speed/load.py

A checkpoint of bert-base's size with random weights is made in a temporary folder. Every figure comes from a
process of its own, the two libraries taking turns: the first load in a fresh process, the median of the later
ones, the same with one pass over all weights (both map the file and read it when it is used), and how far the
process's memory grew, at its peak, by a load and that pass. Needs Linux for the memory.
"""

import argparse
import gc
import importlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time

from rich.console import Console
from rich.table import Table

from benchmarks.speed.memory import memory

LIBRARIES = ("bertlab", "transformers")
FIGURES = {
    "first": "first load, ms",
    "load": "load, ms",
    "touched": "load and read all, ms",
    "peak": "peak memory, MB",
    "private": "of it not the file's pages, MB",
}


def measure(library: str, folder: str, repeats: int) -> dict[str, float]:
    """One process's figures: the first load and the median of the others, in ms; growth of memory in MB."""
    import torch

    torch.set_num_threads(1)
    kind = importlib.import_module(library).BertForPreTraining
    start_peak, start_private = memory("VmRSS"), memory("RssAnon")
    times, touched = [], []
    for turn in range(1 + repeats):
        gc.collect()
        start = time.perf_counter()
        model = kind.from_pretrained(folder)
        times.append(time.perf_counter() - start)
        for parameter in model.parameters():
            parameter.detach().sum()
        touched.append(time.perf_counter() - start)
        if turn == 0:
            growth = memory("VmHWM") - start_peak, memory("RssAnon") - start_private
        del model
    load, read = (1000 * statistics.median(values[1:]) for values in (times, touched))
    return {"first": 1000 * times[0], "load": load, "touched": read, "peak": growth[0], "private": growth[1]}


def make_checkpoint(folder: str) -> None:
    import torch

    from bertlab import BertConfig, BertForPreTraining

    torch.manual_seed(0)
    BertForPreTraining(BertConfig.from_size("base")).save_pretrained(folder)


def in_a_process(*arguments: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def compare(processes: int, repeats: int) -> dict[str, dict[str, float]]:
    """Library -> figure -> median over its processes."""
    runs: dict[str, list[dict[str, float]]] = {library: [] for library in LIBRARIES}
    with tempfile.TemporaryDirectory() as folder:
        make_checkpoint(folder)
        for _ in range(processes):
            for library in LIBRARIES:
                runs[library].append(in_a_process(library, folder, str(repeats)))
    return {
        library: {name: statistics.median(run[name] for run in results) for name in FIGURES}
        for library, results in runs.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=3, help="processes of each library")
    parser.add_argument("--repeats", type=int, default=5, help="loads in a process after the first")
    parser.add_argument("--one", nargs=3, metavar=("LIBRARY", "FOLDER", "REPEATS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if math.isnan(memory()):
        parser.exit(2, "load.py: the memory figures need Linux\n")
    if arguments.one:
        library, folder, repeats = arguments.one
        print(json.dumps(measure(library, folder, int(repeats))))
        return
    medians = compare(arguments.processes, arguments.repeats)
    table = Table("", *LIBRARIES, "ratio", title="Loading bert-base (440 MB, float32), one thread")
    for name, label in FIGURES.items():
        ours, theirs = (medians[library][name] for library in LIBRARIES)
        table.add_row(label, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
