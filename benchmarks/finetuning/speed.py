"""How many steps a second fine-tuning takes, beside transformers' Trainer in the same precision.

    python benchmarks/finetuning/speed.py --data FOLDER                          # english-scratch
    python benchmarks/finetuning/speed.py --data FOLDER --size base --steps 10   # random weights of bert-base's size

FOLDER holds the data sets as benchmarks/finetuning/real.py names them: MR, WNUT-17 and the dev set of SNLI.

All start from the same weights and train on the same tokenized rows, of unequal length, with AdamW, dropout 0.1 and
the same batch size, without evaluation. Trainer draws random batches and pads each to its longest row, as it does by
default; "Trainer, by length" has train_sampling_strategy="group_by_length". bertlab draws its batches as
`bertlab finetune` does. bfloat16 is bf16=True there and --precision bfloat16 here.

Every figure comes from a process of its own; the contestants take turns in each round, and each round has another
order of the rows. The first steps of a process are not timed. Steps a second are the median over the rounds, the ratio
to Trainer in the same precision is the median too, in brackets the least and the greatest. Prints a Markdown table.
"""

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import torch

from benchmarks.finetuning import with_trainer
from benchmarks.finetuning.real import prepare
from benchmarks.finetuning.storyworld import task_of
from benchmarks.tables import head, line, with_ratios
from bertlab import BertConfig, BertForPreTraining, Tokenizer
from bertlab.inputs.features import Feature
from bertlab.model.cpu import keep_memory
from bertlab.training.engine.devices import Devices
from bertlab.training.engine.loop import LoopSettings, train
from bertlab.training.engine.optim import Optimization
from bertlab.training.finetune import batches
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.task_loss import task_loss

WARM = 5
ADAMW = Optimization("adamw", 1e-4, warmup=0.1, weight_decay=0.01, beta2=0.999)
PRECISIONS = ("float32", "bfloat16")
HEAD = ("data set", "precision", "", "steps/s", "times as fast as Trainer")


def by_trainer(
    sampling: str, folder: Path, features: list[Feature], recipe: FinetuneRecipe, precision: str, steps: int
):
    """When each step began."""
    moments: list[float] = []
    how = {"train_sampling_strategy": sampling, "max_steps": steps, "bf16": precision == "bfloat16"}
    settings = with_trainer.arguments(recipe, folder / "out", **how)
    with_trainer.make_trainer(folder, features, settings, callbacks=[with_trainer.Clock(moments)]).train()
    return moments


def by_bertlab(folder: Path, features: list[Feature], recipe: FinetuneRecipe, precision: str, steps: int):
    moments: list[float] = []
    task = task_of(recipe)
    devices = Devices("cpu").settle(precision)

    def stream() -> Iterator[dict]:
        for batch in islice(batches(features, task.tokenizer, recipe, 0), steps):
            moments.append(time.perf_counter())
            yield batch

    model = task.head.from_pretrained(folder)
    train(model, stream(), task_loss, LoopSettings(steps, recipe.optim, progress=False), devices=devices)
    return moments


CONTESTANTS: dict[str, Callable] = {
    "Trainer": partial(by_trainer, "random"),
    "Trainer, by length": partial(by_trainer, "group_by_length"),
    "bertlab": by_bertlab,
}


def one(name: str, folder: Path, precision: str, seed: int, steps: int) -> float:
    """Steps a second of a contestant in this process."""
    keep_memory()
    recipe, features = pickle.loads((folder / "rows.pickle").read_bytes())
    moments = CONTESTANTS[name](folder, features, replace(recipe, seed=seed), precision, WARM + steps + 1)
    return steps / (moments[WARM + steps] - moments[WARM])


def in_a_process(*arguments: object) -> float:
    command = [sys.executable, __file__, "--one", *map(str, arguments)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1])


def random_model(size: str, folder: Path) -> str:
    """A checkpoint of that size with english-scratch's vocabulary."""
    tokenizer = Tokenizer.from_pretrained("english-scratch")
    torch.manual_seed(0)
    BertForPreTraining(BertConfig.from_size(size, vocab_size=tokenizer.vocab_size)).save_pretrained(folder, tokenizer)
    return str(folder)


def compare(name: str, options: argparse.Namespace, folder: Path) -> list[str]:
    """Lines of the table for a data set."""
    run = prepare(name, argparse.Namespace(**vars(options), few=None, epochs=None, seed=0, set=(), adamw_rates=[1e-4]))
    recipe = replace(run.adamw, optim=ADAMW, dropout=0.1, batch_size=options.batch_size)
    start, features = with_trainer.checkpoint(recipe, task_of(recipe), run.sets.train, folder)
    (start / "rows.pickle").write_bytes(pickle.dumps((recipe, features)))
    lines = []
    for precision in options.precisions:
        rates: dict[str, list[float]] = {}
        for seed in range(options.rounds):
            for contestant in CONTESTANTS:
                rate = in_a_process(contestant, start, precision, seed, options.steps)
                rates.setdefault(contestant, []).append(rate)
        lines += [line([name, precision, *row]) for row in with_ratios(rates, ".2f")]
    return lines


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--only", nargs="+", choices=("mr", "snli", "wnut"), default=["mr", "snli", "wnut"])
    parser.add_argument("--model", default="english-scratch")
    parser.add_argument("--size", help="random weights of this size instead of the model")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=[*PRECISIONS])
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30, help="that are timed in a round")
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if options.one:
        name, folder, precision, seed, steps = options.one
        print(json.dumps(one(name, Path(folder), precision, int(seed), int(steps))))
        return
    print(head(HEAD))
    with tempfile.TemporaryDirectory() as place:
        if options.size:
            options.model = random_model(options.size, Path(place) / "pretrained")
        for name in options.only:
            print(*compare(name, options, Path(place) / name), sep="\n", flush=True)
    print(f"\n{torch.get_num_threads()} threads, torch {torch.__version__}; {options.size or options.model}")


if __name__ == "__main__":
    main()
