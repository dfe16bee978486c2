"""What fine-tuning reaches in so many seconds on the tasks of the storyworld, and what pretraining adds to it.

    python benchmarks/finetuning/storyworld.py                         # six tasks, a minute each
    python benchmarks/finetuning/storyworld.py --tasks qa --seconds 20 --seeds 0 1 2

"pretrained" is fine-tuned as `bertlab finetune TASK` does it by default, but on as many examples as the seconds last
for: a few steps are timed first, and the learning rate comes down by the end of as many as fit. "random" is a model of
the same shape with freshly drawn weights, trained for the same steps on the same examples. The seconds are those of the
training steps of "pretrained", without the making and tokenizing of the examples. Both are measured on 2,000 examples
with combinations of words that training never shows; in brackets is the 95% interval that these examples give or, of
several seeds, which draw new heads and new training examples, the least and the greatest beside their mean. "guess" is
the simplest that needs no model: the most frequent class, a right choice by chance, the usual label of each word, and
of questions that none has an answer.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import torch

from benchmarks.tables import head, line
from bertlab.cli.finetune import Finetune, recipe_of
from bertlab.cli.shared.examples import Sets, world_sets
from bertlab.cli.shared.tuning import untrained
from bertlab.tasks.registry import TASKS as ALL_TASKS
from bertlab.tasks.registry import find_task
from bertlab.tokenizer import Tokenizer
from bertlab.training.finetune import finetune
from bertlab.training.finetune_recipe import FinetuneRecipe

TASKS = tuple(name for name, task in ALL_TASKS.items() if task.storyworld)
WARM, TIMED = 5, 20  # steps
HEAD = ("task", "measure", "pretrained", "random", "gain", "guess", "seconds", "steps")


@dataclass(frozen=True)
class Figure:
    """What a model reached, and the bounds of the 95% interval."""

    value: float
    low: float
    high: float
    seconds: float = 0.0


@dataclass(frozen=True)
class Compared:
    """What both reached with one seed."""

    pretrained: Figure
    random: Figure
    guess: float
    steps: int


def steps_within(seconds: float, recipe: FinetuneRecipe) -> int:
    """How many steps the training takes in that time, by the pace of a few."""
    steps = WARM + TIMED
    examples = list(find_task(recipe.task).storyworld(recipe.seed, steps * recipe.batch_size, "train"))
    rows = finetune(replace(recipe, steps=steps), examples, log_every=WARM, progress=False).rows
    return max(1, round(seconds * TIMED / (rows[-1]["seconds"] - rows[0]["seconds"])))


def task_of(recipe: FinetuneRecipe):
    tokenizer = Tokenizer.from_pretrained(recipe.model)
    return find_task(recipe.task).family(tokenizer, recipe.max_length, recipe.stride)


def learn(recipe: FinetuneRecipe, sets: Sets, model=None) -> Figure:
    """Fine-tune, and measure on the test examples."""
    result = finetune(recipe, sets.train, sets.dev, model=model, log_every=recipe.steps)
    measures = result.task.measures(sets.test, list(result.task.predict(result.model, sets.test)))
    best = result.task.best
    return Figure(measures[best], measures[f"{best}_low"], measures[f"{best}_high"], result.rows[-1]["seconds"])


def compare(recipe: FinetuneRecipe) -> Compared:
    """With and without pretraining, for `recipe.steps`."""
    sets = world_sets(replace(recipe, examples=recipe.steps * recipe.batch_size))
    task = task_of(recipe)
    guess = next(iter(task.baselines(sets.train, sets.test).values()))[task.best]
    pretrained = learn(recipe, sets)
    random = learn(recipe, sets, untrained(recipe, sets.train))
    return Compared(pretrained, random, guess, recipe.steps)


def in_words(figures: Sequence[Figure]) -> str:
    """The figure with its interval, or the mean of several with their least and greatest."""
    values = [figure.value for figure in figures]
    low, high = (figures[0].low, figures[0].high) if len(figures) == 1 else (min(values), max(values))
    all_alike = len(figures) == 1 and low == high  # which does not make it certain
    return f"{fmean(values):.3f}" + f" ({low:.3f} to {high:.3f})" * (not all_alike)


def row(name: str, found: Sequence[Compared]) -> list[str]:
    pretrained, random = [one.pretrained for one in found], [one.random for one in found]
    gain = fmean(a.value - b.value for a, b in zip(pretrained, random, strict=True))
    seconds = fmean(figure.seconds for figure in pretrained)
    figures = [in_words(pretrained), in_words(random), f"{gain:+.3f}", f"{fmean(one.guess for one in found):.3f}"]
    return [name, find_task(name).family.best, *figures, f"{seconds:.0f}", f"{found[0].steps:,}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--model", default="storyworld-tiny")
    parser.add_argument("--seconds", type=float, default=60.0, help="of training, for each model")
    parser.add_argument("--steps", type=int, help="instead of seconds")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    options = parser.parse_args()
    print(head(HEAD))
    for name in options.tasks:
        recipes = [recipe_of(Finetune(name, model=options.model, seed=seed)) for seed in options.seeds]
        steps = options.steps or steps_within(options.seconds, recipes[0])
        print(f"{name}, {steps:,} steps ...", file=sys.stderr)
        print(line(row(name, [compare(replace(recipe, steps=steps)) for recipe in recipes])), flush=True)
    print(f"\n{torch.get_num_threads()} threads, torch {torch.__version__}; {options.model}, seeds {options.seeds}")


if __name__ == "__main__":
    main()
