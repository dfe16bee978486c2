"""Which optimizer and learning rate fine-tune a model best: AdamW and Muon at several rates, on real text; and AdamW on
low-rank changes alone (LoRA), of the rank that --rank says.

    python benchmarks/finetuning/optimizers.py --data FOLDER --models MINILM english --results optimizers.csv
    python benchmarks/finetuning/optimizers.py --models storyworld-tiny --sets qa --results optimizers.csv
    python benchmarks/finetuning/optimizers.py --data FOLDER --models MINILM english --step-times 10

FOLDER holds the data sets as benchmarks/finetuning/real.py names them; other --sets are tasks of the storyworld. Every
setting learns from the same --examples of the training set for --epochs, in rows of at most 192 tokens; the rest is as
`bertlab finetune` has it by default. Measured at the end on the dev set, as the test sets are not for what is chosen
here: the main measure of the task. A second call skips what is in --results. Prints a Markdown table: a figure is the
mean of the seeds, with the least and the greatest of several in brackets. The seed draws the new layer and the order.

--step-times: processor seconds of a training step instead, the median of so many, by turns of the optimizers. Other
work on the machine changes them little. Give --threads 1, as the threads' seconds are added.
"""

import argparse
import csv
import random
import sys
import time
from collections import defaultdict
from dataclasses import astuple, dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.finetuning.real import REAL
from benchmarks.finetuning.storyworld import TASKS
from benchmarks.tables import head, line, spread
from bertlab.cli.finetune import Finetune, recipe_of
from bertlab.cli.shared.examples import Sets, world_sets
from bertlab.training.engine.optim import Optimization
from bertlab.training.finetune import finetune
from bertlab.training.finetune_recipe import FinetuneRecipe

RATES = {
    "adamw": (5e-5, 1e-4, 3e-4, 1e-3),
    "muon": (1e-4, 3e-4, 1e-3, 2e-3),
    "lora": (5e-4, 1e-3, 2e-3, 4e-3),
}
ADAMW = Optimization("adamw", warmup=0.1, beta2=0.999)
PLAIN = {"adamw": ADAMW, "muon": Optimization("muon", warmup=0.1), "lora": ADAMW}
WARM = 3  # steps that are not timed
MOST_TOKENS = 192  # of a row; a longer passage is read in windows
COLUMNS = ("model", "set", "examples", "epochs", "optimizer", "rate", "seed", "measure", "steps", "seconds")


@dataclass(frozen=True)
class Setting:
    """What a figure is for; the fields are the first columns of the file of results."""

    model: str
    set: str
    examples: int
    epochs: float
    optimizer: str
    rate: float
    seed: int


def recipe_for(setting: Setting, options: argparse.Namespace) -> FinetuneRecipe:
    """The recipe of the command's defaults, with this optimizer."""
    real = REAL.get(setting.set)
    train = options.data if real else None  # only whether there is one counts here
    command = Finetune(real.task if real else setting.set, setting.model, train=train, seed=setting.seed)
    recipe = recipe_of(command)
    length = min(recipe.max_length, MOST_TOKENS)
    optim = replace(PLAIN[setting.optimizer], learning_rate=setting.rate)
    rank = options.rank if setting.optimizer == "lora" else 0
    return replace(recipe, epochs=setting.epochs, max_length=length, optim=optim, evaluate_every=0, lora=rank)


def sets_of(recipe: FinetuneRecipe, setting: Setting, options: argparse.Namespace) -> Sets:
    """What is learned from and measured on: the same for all seeds."""
    if setting.set not in REAL:
        return world_sets(replace(recipe, examples=setting.examples, seed=0))
    sets = REAL[setting.set].read(options.data / REAL[setting.set].folder)
    few = random.Random(0).sample(sets.train, min(setting.examples, len(sets.train)))
    return replace(sets, train=few)


def measured(setting: Setting, options: argparse.Namespace) -> list[float]:
    """The main measure after training, the steps and the seconds of training."""
    recipe = recipe_for(setting, options)
    sets = sets_of(recipe, setting, options)
    result = finetune(recipe, sets.train, log_every=20, progress=False)
    if result.rows[-1]["step"] < recipe.count_steps(len(sets.train)):
        raise SystemExit(130)  # a signal ended it
    figures = result.task.measures(sets.dev, list(result.task.predict(result.model, sets.dev)))
    last = result.rows[-1]
    return [figures[result.task.best], last["step"], last["seconds"]]


def results(path: Path) -> dict[Setting, list[float]]:
    """What was measured before."""
    if not path.exists():
        return {}
    found = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            named: dict[str, Any] = {name: kind(row[name]) for name, kind in Setting.__annotations__.items()}
            found[Setting(**named)] = [float(row[name]) for name in COLUMNS[-3:]]
    return found


def missing(options: argparse.Namespace, known: dict[Setting, list[float]]) -> list[Setting]:
    """The settings asked for that are not measured; the first seed of all comes first."""
    pairs = [(name, rate) for name in RATES for rate in getattr(options, name)]
    order = product(options.seeds, options.sets, options.models, pairs)
    size = options.examples, options.epochs
    asked = [Setting(model, one, *size, name, rate, seed) for seed, one, model, (name, rate) in order]
    return [setting for setting in asked if setting not in known]


def measure_all(options: argparse.Namespace) -> None:
    known = results(options.results)
    for setting in missing(options, known):
        row = [*astuple(setting), *(f"{number:.6g}" for number in measured(setting, options))]
        new = not options.results.exists()
        with options.results.open("a", newline="") as file:
            csv.writer(file).writerows([COLUMNS, row] if new else [row])
        print(*row, file=sys.stderr, flush=True)


def table(found: dict[Setting, list[float]]) -> list[str]:
    """Lines of a Markdown table: a row for each model, optimizer and rate, a column for each set."""
    cells = defaultdict(list)
    for s, (measure, *_) in found.items():
        cells[Path(s.model).name, s.optimizer, s.rate, s.set].append(measure)
    sets = sorted({key[3] for key in cells})
    rows = [head(["model", "optimizer", "rate", *sets])]
    for model, optimizer, rate in sorted({key[:3] for key in cells}):
        values = [spread(cells.get((model, optimizer, rate, one), [])) for one in sets]
        rows.append(line([model, optimizer, f"{rate:g}", *values]))
    return rows


def step_times(options: argparse.Namespace) -> list[str]:
    """Lines of a Markdown table: median seconds of a step, by turns of the optimizers."""
    rows = [head(["model", "set", *(f"{name}, s a step" for name in RATES)])]
    for model, one in product(options.models, options.sets):
        taken: dict[str, list[float]] = {name: [] for name in RATES}
        for _, name in product(range(options.rounds), RATES):
            taken[name] += seconds_of_steps(Setting(model, one, options.examples, 1.0, name, 1e-4, 0), options)
        rows.append(line([Path(model).name, one, *(f"{median(times):.3f}" for times in taken.values())]))
    return rows


def seconds_of_steps(setting: Setting, options: argparse.Namespace) -> list[float]:
    recipe = replace(recipe_for(setting, options), steps=WARM + options.step_times)
    sets = sets_of(recipe, setting, options)
    ended: list[float] = []
    finetune(recipe, sets.train, log_every=1, progress=False, on_log=lambda row: ended.append(time.process_time()))
    return [after - before for before, after in pairwise(ended[WARM - 1 :])]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--models", nargs="+", default=["english"])
    parser.add_argument("--sets", nargs="+", choices=[*REAL, *TASKS], default=["mr", "wnut", "squad"])
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--adamw", nargs="*", type=float, default=RATES["adamw"], help="learning rates")
    parser.add_argument("--muon", nargs="*", type=float, default=RATES["muon"], help="learning rates")
    parser.add_argument("--lora", nargs="*", type=float, default=RATES["lora"], help="learning rates")
    parser.add_argument("--rank", type=int, default=16, help="of the low-rank changes")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--results", type=Path, default=Path("optimizers.csv"))
    parser.add_argument("--step-times", type=int, default=0, help="time so many steps instead")
    parser.add_argument("--rounds", type=int, default=2, help="of the step times")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    if options.step_times:
        print(*step_times(options), sep="\n")
    else:
        measure_all(options)
        print(*table(results(options.results)), sep="\n")
    print(f"\n{torch.get_num_threads()} threads, torch {torch.__version__}")


if __name__ == "__main__":
    main()
