"""Does a training that is killed at any moment end with the same weights as one that is not?

    python benchmarks/pretraining/kills.py  # pretraining, 100 kills; some minutes
    python benchmarks/pretraining/kills.py --command finetune --points 20 --precision bfloat16 --threads 2

A small run is killed by SIGKILL and resumed, again and again, on another number of threads each time; in the end its
weights are compared, bit for bit, with those of a run that nothing interrupted. A kill comes at a random moment after
the start, while a state is being written, or after some progress (a row of metrics, a state). Runs are repeated until
so many kills have fallen. Exit code 1 if weights differ, or if a resumed run found a damaged state.

Every run is a process of its own, forked from one that has imported everything and computed nothing. So it
takes less than a second; the imports alone would take three. For Linux and macOS.
"""

import argparse
import filecmp
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

import bertlab.cli.shared.examples
import bertlab.evaluation.report
import bertlab.training.grid
import bertlab.training.pretrain  # noqa: F401
from bertlab.cli.main import main as bertlab

STORY = "Ann has a dog. The dog is old. It sleeps a lot. Ann feeds it. Bob has a cat. The cat is young. It runs."
SMALL = "hidden_size=32 num_attention_heads=2 num_hidden_layers=2 hidden_dropout_prob=0.1"
TINY = f"pretrain --text story.txt --batch-size 4 --device cpu --set {SMALL}"
COMMANDS = {
    "pretrain": f"{TINY} --steps 90 --save-every 4",
    "finetune": "finetune sentence --train class.csv --model tiny --steps 160 --batch-size 4 --device cpu "
    "--set dropout=0.1 evaluate_every=20",
}
LIMIT = 600  # seconds that no process here needs
WEIGHTS = "model.safetensors"


@dataclass
class Kills:
    """Runs of one command in one folder, and their kills."""

    command: str
    precision: str
    threads: int
    chance: random.Random
    done: Counter = field(default_factory=Counter)  # by kind of moment
    runs: int = 0

    def whole(self) -> None:
        """The run that nothing interrupts."""
        if self.command == "finetune":
            self._end(self._start(f"{TINY} --steps 3 --out tiny", self.threads))
        self._end(self._start(self._line("whole"), self.threads))

    def until(self, points: int) -> bool:
        """Kill and resume that many times; return whether all runs ended with the weights of `whole`."""
        while self.done.total() < points:
            shutil.rmtree("run", ignore_errors=True)
            self._one_run(points)
            self.runs += 1
            if not filecmp.cmp(f"whole/{WEIGHTS}", f"run/{WEIGHTS}", shallow=False):
                return False
        return True

    def _one_run(self, points: int) -> None:
        for start in range(1000):
            again = any(Path("run/resume").glob("state-*.pt"))
            if not again and Path("run", WEIGHTS).exists():
                return None  # killed after the training, while it was measured
            threads = self.threads + (start % 2 if again else 0)
            process = self._start(self._line("run") + (" --resume" if again else ""), threads)
            if self.done.total() == points:
                return self._end(process)
            kind = self.chance.choice(["at random", "while saving", "after progress"])
            self._wait(process, getattr(self, kind.replace(" ", "_"))())
            process.kill()
            process.join()
            if process.exitcode != -signal.SIGKILL:
                return self._end(process)
            self.done[kind] += 1

    def at_random(self) -> Callable[[], bool]:
        end = time.monotonic() + self.chance.uniform(0, 1.5)
        return lambda: time.monotonic() > end

    def while_saving(self) -> Callable[[], bool]:
        return lambda: any(Path("run/resume").glob(".*.part"))

    def after_progress(self) -> Callable[[], bool]:
        seen, count = {progress()}, self.chance.randint(1, 3)
        return lambda: seen.add(progress()) or len(seen) > count

    def _wait(self, process, moment: Callable[[], bool]) -> None:
        end = time.monotonic() + LIMIT
        while process.is_alive() and not moment():
            assert time.monotonic() < end, "a run hangs"
            time.sleep(0.0005)

    def _line(self, out: str) -> str:
        return f"{COMMANDS[self.command]} --precision {self.precision} --out {out}"

    def _start(self, line: str, threads: int):
        process = multiprocessing.get_context("fork").Process(target=run, args=(line.split(), threads))
        process.start()
        return process

    def _end(self, process) -> None:
        process.join(LIMIT)
        printed = Path("printed.txt").read_text()
        if process.exitcode != 0 or "damaged" in printed:
            raise SystemExit(f"a run ended with exit code {process.exitcode}:\n{printed}")


def run(arguments: list[str], threads: int) -> None:
    """The command in this process, which was forked for it; what it prints goes to printed.txt."""
    with open("printed.txt", "w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
        torch.set_num_threads(threads)
        bertlab(arguments)


def progress() -> tuple:
    """Changes with every row of metrics and with every state."""
    rows = Path("run/metrics.csv")
    return rows.stat().st_size if rows.exists() else 0, max(Path("run/resume").glob("state-*.pt"), default=None)


def write_texts() -> None:
    chapters = (f"CHAPTER {number}\n\n{STORY}" for number in "I II III IV V VI VII".split())
    Path("story.txt").write_text("\n\n".join(chapters))
    rows = (f"{'a red' if n % 2 else 'a blue'} dog number {n},{n % 2}" for n in range(40))
    Path("class.csv").write_text("\n".join(["text,label", *rows]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100, help="number of kills")
    parser.add_argument("--command", choices=COMMANDS, default="pretrain")
    parser.add_argument("--precision", choices=("auto", "float32", "bfloat16"), default="auto")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        write_texts()
        kills = Kills(options.command, options.precision, options.threads, random.Random(options.seed))
        kills.whole()
        same = kills.until(options.points)
        os.chdir("/")
    moments = ", ".join(f"{count} {kind}" for kind, count in sorted(kills.done.items()))
    verdict = "all ended with the same weights" if same else "the last ended with OTHER weights"
    setting = f"{options.command}, {options.precision}, {options.threads} and {options.threads + 1} threads"
    print(f"{setting}: {kills.done.total()} kills ({moments}) of {kills.runs} runs: {verdict}")
    sys.exit(not same)


if __name__ == "__main__":
    main()
