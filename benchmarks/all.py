"""Run the benchmarks one after the other and write build/benchmarks.md: `make bench`, in a quarter of an hour.

docs/benchmarks.md is collected from such runs, on several machines.
"""

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import torch

from bertlab.io.atomic import atomic_write

FOLDER = Path(__file__).parent
SCRIPTS = {
    "speed/step.py": "One training step",
    "speed/where_time_goes.py": "Where the time of a step goes",
    "speed/load.py": "Loading a model of the size of bert-base",
    "speed/predict.py --texts 1000": "Predicting a class for each text",
    "speed/token_store.py": "Tokenizing to disk",
    "pretraining/time_to_accuracy.py": "Words learned by seconds of training",
    "explorer/speed.py": "The explorer in a browser",
    "explorer/sessions.py": "Twenty readers of the explorer at once",
    "finetuning/storyworld.py --seconds 5": "Tasks learned in five seconds",
}
IF_GPU = {"speed/gpu.py": "What each technique brings on a GPU"}
PACKAGES = ("torch", "transformers", "tokenizers", "datasets")


def machine() -> str:
    """The processor, as far as the system names it, and its cores."""
    named = [line.split(":")[1].strip() for line in read("/proc/cpuinfo") if line.startswith("model name")]
    return f"{named[0] if named else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def read(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def section(command: str, title: str) -> str:
    """What a script says of itself, and what it printed with its arguments."""
    script, *arguments = command.split()
    words = subprocess.run([sys.executable, FOLDER / script, "--help"], capture_output=True, text=True, check=True)
    about = words.stdout.split("\n\n", 1)[1].split("\noptions:")[0].strip()
    print(f"{command} ...", file=sys.stderr)
    run = [sys.executable, FOLDER / script, *arguments]
    printed = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    return f"## {title}\n\n```\n{about}\n```\n\n```\n{lines}\n```\n"


def main() -> None:
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    head = f"# Benchmarks\n\nMade by `make bench` on {machine()}; Python {platform.python_version()}, {versions}.\n"
    scripts = SCRIPTS | (IF_GPU if torch.cuda.is_available() else {})
    parts = [section(script, title) for script, title in scripts.items()]
    out = FOLDER.parent / "build" / "benchmarks.md"
    out.parent.mkdir(exist_ok=True)
    atomic_write(out, "\n".join([head, *parts]))
    print(f"written to {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
