"""Runs that SIGKILL ends at a step and while a state is written; a script for test_resume.py.

It imports everything and computes nothing: each run is forked of it, at once. Prints by which signal each run ended.
"""

import os
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path

import torch
import torch._dynamo

import bertlab.cli.shared.material
import bertlab.evaluation.card
import bertlab.training.pretrain  # noqa: F401
from bertlab.cli.main import main
from bertlab.training.engine import loop

STORY = "Ann has a dog. The dog is old. It sleeps a lot. Ann feeds it. Bob has a cat. The cat is young. It runs."
OPTIONS = "--steps 12 --save-every 4 --batch-size 4 --device cpu --precision bfloat16"
SMALL = "hidden_size=16 num_attention_heads=2 num_hidden_layers=1 hidden_dropout_prob=0.1"
COMMAND = f"pretrain --text story.txt {OPTIONS} --set {SMALL}"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at_step(number: int) -> None:
    """Let a kill come before that step."""
    steps, step = count(1), loop.train_step
    loop.train_step = lambda *given: die() if next(steps) == number else step(*given)


def while_saving() -> None:
    """Let a kill come when half of a state is written."""

    def half(state, file):
        file.write(b"half")
        file.flush()
        die()

    torch.save = half


def run(line: str, killed: Callable[[], None] = lambda: None, threads: int = 1) -> str:
    """The command in a process of its own; how that ended."""
    child = os.fork()
    if not child:
        torch.set_num_threads(threads)
        killed()
        try:
            main(line.split())
        except SystemExit as ended:
            os._exit(ended.code or 0)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return signal.Signals(-code).name if code < 0 else str(code)


def killed_and_resumed() -> list[str]:
    """A whole run, and one that is killed before and after its first state was saved, once on other threads."""
    line = f"{COMMAND} --out "
    return [
        run(f"{line}whole"),
        run(f"{line}killed", while_saving),
        run(f"{line}killed", lambda: at_step(7)),
        run(f"{line}killed --resume", while_saving, threads=2),
        run(f"{line}killed --resume", lambda: at_step(6)),
        run(f"{line}killed --resume", threads=2),
    ]


if __name__ == "__main__":
    chapters = (f"CHAPTER {number}\n\n{STORY}" for number in "I II III IV V VI VII".split())
    Path("story.txt").write_text("\n\n".join(chapters))
    print(*killed_and_resumed(), flush=True)
