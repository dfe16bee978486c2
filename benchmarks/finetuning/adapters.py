"""What the adapters are worth: four tasks learned from at most 2,000 examples, by an adapter and by what it is beside.

    python benchmarks/finetuning/adapters.py --data FOLDER --results results.csv    # hours; called again, it goes on
    python benchmarks/finetuning/adapters.py --results results.csv                  # the table alone

FOLDER and its test sets are those of `benchmarks/finetuning/real.py`: opinions (MR), pairs (SNLI, three labels), names
(WNUT-17) and questions (SQuAD 1.1, measured on XQuAD-en, which shares no passage with it).

A seed draws the examples, the same for all learners, then the new head and the order. "LoRA" is the command
`bertlab finetune --model english --lora 16` with its defaults, "all weights" that without `--lora`, "random weights"
the same from weights drawn at random, "english-scratch" the command on that model. The last step counts.
Texts are cut after 128 tokens, passages read in windows of 256. Beside them stand the command's baselines.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import torch

from benchmarks.finetuning.real import REAL
from benchmarks.finetuning.storyworld import task_of
from benchmarks.tables import Results, head, line, read_results, spread, write_results
from bertlab.cli.finetune import Finetune, enough_steps, recipe_of
from bertlab.cli.shared.examples import Sets
from bertlab.cli.shared.tuning import untrained
from bertlab.training.finetune import finetune

COLUMNS = ("set", "learner", "seed", "measure")
LEARNERS = {  # model, adapter's rank, weights drawn at random?
    "random weights": ("english", None, True),
    "english-scratch": ("english-scratch", None, False),
    "all weights": ("english", None, False),
    "LoRA": ("english", 16, False),
}
TITLES = {"mr": "opinions (MR), accuracy", "snli": "pairs (SNLI), accuracy"}
TITLES |= {"wnut": "names (WNUT-17), F1", "squad": "questions (XQuAD-en), F1"}


def learned(name: str, learner: str, seed: int, sets: Sets, changes: Sequence[str]) -> float:
    """Return the main measure on the test set after the command's fine-tuning."""
    model, rank, random_weights = LEARNERS[learner]
    longest = 256 if name == "squad" else 128
    given = {"seed": seed, "lora": rank, "max_length": longest, "set": (tuple(changes),)}
    command = Finetune(REAL[name].task, model, train=Path("train"), **given)
    recipe = enough_steps(command, recipe_of(command), sets)
    start = untrained(recipe, sets.train) if random_weights else None
    result = finetune(recipe, sets.train, model=start, progress=False)
    return result.task.measures(sets.test, list(result.task.predict(result.model, sets.test)))[REAL[name].measures[0]]


def simple(name: str, sets: Sets) -> dict[str, float]:
    """Return the main measure of each baseline."""
    recipe = recipe_of(Finetune(REAL[name].task, "english", train=Path("train")))
    found = dict(task_of(recipe).baselines(sets.train, sets.test))
    found |= {title: learn(sets) for title, learn in REAL[name].simple.items()}
    return {title: measures[REAL[name].measures[0]] for title, measures in found.items()}


def measure(options: argparse.Namespace, results: Results) -> None:
    """Add to the results what they lack; the file is written after each training."""
    for name, seed in product(options.sets, range(options.seeds)):
        whole = REAL[name].read(options.data / REAL[name].folder)
        train = random.Random(seed).sample(list(whole.train), min(options.examples, len(whole.train)))
        sets = Sets(train, list(whole.dev), list(whole.test), [])
        known = {learner for other, learner, drawn in results if (other, drawn) == (name, seed)}
        if not known - LEARNERS.keys():
            results |= {(name, title, seed): figure for title, figure in simple(name, sets).items()}
        for learner in LEARNERS:
            if learner not in known:
                results[name, learner, seed] = learned(name, learner, seed, sets, options.set)
                print(name, learner, seed, f"{results[name, learner, seed]:.3f}", file=sys.stderr, flush=True)
                write_results(options.results, COLUMNS, results)


def table(results: Results) -> list[str]:
    """Return the lines of a Markdown table: mean of the seeds, in brackets the least and the greatest."""
    rows = [head(["learned by", *TITLES.values()])]
    for learner in dict.fromkeys([*(key[1] for key in results if key[1] not in LEARNERS), *LEARNERS]):
        seeds = {name: [figure for key, figure in results.items() if key[:2] == (name, learner)] for name in TITLES}
        rows.append(line([learner, *map(spread, seeds.values())]))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the data sets; the table alone if not given")
    parser.add_argument("--results", type=Path, required=True, help="CSV that keeps every result")
    parser.add_argument("--sets", nargs="+", choices=TITLES, default=list(TITLES))
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--set", nargs="+", default=(), help="FIELD=VALUE of the recipe; keep it in a file of its own")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = read_results(options.results, COLUMNS)
    if options.data:
        measure(options, results)
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
