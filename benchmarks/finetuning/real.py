"""Fine-tuning on data sets that people made: beside simpler models, and beside transformers' Trainer.

    python benchmarks/finetuning/real.py --data FOLDER                     # all four, quality and then speed
    python benchmarks/finetuning/real.py --data FOLDER --only mr --speed   # speed alone
    python benchmarks/finetuning/real.py --data FOLDER --only wnut --ours --quality --set token_decoder=cnn

FOLDER holds the data sets as their makers give them; one that is not there is left out:

    sentence_polarity/rt-polarity.pos, .neg        MR, Pang and Lee 2005; a tenth is the test set
    wnut17/wnut17train.conll, emerging.*           WNUT-17, Derczynski et al. 2017
    nli_dev/snli_dev.csv                           the dev set of SNLI, Bowman et al. 2015, a fifth of it the test set
    squad/train-v1.1.head.json, xquad.en.json      some of SQuAD 1.1, Rajpurkar et al. 2016; XQuAD, Artetxe et al. 2020

No text is in two sets: examples with the same sentence (MR), first text (SNLI) or passage (SQuAD) stay together.
A tenth of what is learned from is the dev set, but WNUT-17 has its own.

"bertlab" is `bertlab finetune` with its defaults, the checkpoint of the best epoch on the dev set; "random" the same
from freshly drawn weights. "bertlab, AdamW" and "Trainer" learn from the same rows, start from the same weights, and
have the same AdamW, batch size and number of steps; the last checkpoint counts. The learning rate is the one of three
with which "bertlab, AdamW" ends best on the dev set. Trainer draws its batches at random and pads them to their longest
row, as it does by default; it is in float32, bertlab in bfloat16 where the processor is fast at it. Seconds are those
of training, with bertlab's evaluations on the dev set, without tokenizing. Whole test sets are measured; in brackets
is the 95% interval that the test examples give.

Speed: all train for some steps by turns, in every round on the same batches of tokenized rows of like length, which
spares padding to both; the first steps of each turn are not timed. For all of them the allocator
keeps freed memory, as in bertlab's training.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from benchmarks.finetuning import with_trainer
from benchmarks.finetuning.linear_baselines import word_measures
from benchmarks.finetuning.storyworld import task_of
from benchmarks.tables import head, line, with_ratios
from bertlab.cli.finetune import Finetune, recipe_of
from bertlab.cli.shared.examples import Sets
from bertlab.cli.shared.messages import say
from bertlab.cli.shared.tuning import untrained
from bertlab.corpora.examples import TextExample
from bertlab.corpora.labelled.conll import read_conll
from bertlab.corpora.labelled.parts import keep_apart
from bertlab.corpora.labelled.squad import read_squad
from bertlab.corpora.labelled.tabular import read_table
from bertlab.corpora.reading import open_text
from bertlab.tasks.base import Task
from bertlab.training.engine.optim import Optimization
from bertlab.training.finetune import finetune
from bertlab.training.finetune_recipe import FinetuneRecipe

DEV_EACH = 10  # one in ten
RATES = (3e-4, 5e-4, 1e-3)  # the paper's 5e-5 hardly moves a model so narrow
HEAD = ("data set", "learned by", "measured", "steps", "seconds")
RACE_HEAD = ("data set", "", "examples/s", "times as fast as Trainer")


@dataclass(frozen=True)
class RealSet:
    """The name of its task, its folder, how it is read, its measures, and simple models beside the task's baselines."""

    task: str
    folder: str
    read: Callable[[Path], Sets]
    measures: tuple[str, ...]
    simple: Mapping[str, Callable[[Sets], dict[str, float]]] = field(default_factory=dict)


def with_dev(known: Sequence, test: Sequence) -> Sets:
    train, dev = keep_apart(known, DEV_EACH)
    return Sets(train, dev, list(test), [])


def read_polarity(folder: Path) -> Sets:
    examples = []
    for label in ("neg", "pos"):
        with open_text(folder / f"rt-polarity.{label}") as file:
            examples += [TextExample(f"{label}-{n}", text.strip(), None, label) for n, text in enumerate(file)]
    return with_dev(*keep_apart(examples, 10))


def read_inference(folder: Path) -> Sets:
    return with_dev(*keep_apart(list(read_table(folder / "snli_dev.csv")), 5))


def read_emerging(folder: Path) -> Sets:
    files = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
    train, dev, test = (list(read_conll(folder / file)) for file in files)
    return Sets(train, dev, test, [])


def read_questions(folder: Path) -> Sets:
    known, test = (list(read_squad(folder / file)) for file in ("train-v1.1.head.json", "xquad.en.json"))
    return with_dev(known, test)


REAL = {
    "mr": RealSet("sentence", "sentence_polarity", read_polarity, ("accuracy",)),
    "wnut": RealSet("token", "wnut17", read_emerging, ("f1",), {"linear, on words around": word_measures}),
    "snli": RealSet("pair", "nli_dev", read_inference, ("accuracy",)),
    "squad": RealSet("qa", "squad", read_questions, ("f1", "exact")),
}


@dataclass
class Run:
    """A data set with the recipes for it."""

    name: str
    real: RealSet
    sets: Sets
    ours: FinetuneRecipe
    adamw: FinetuneRecipe

    @property
    def task(self) -> Task:
        return task_of(self.ours)


def prepare(name: str, options: argparse.Namespace) -> Run:
    """The sets and the recipes: that of `bertlab finetune`, and the same with AdamW."""
    real = REAL[name]
    sets = real.read(options.data / real.folder)
    if options.few:
        train, dev, test = (part[:: -(-len(part) // options.few)] for part in (sets.train, sets.dev, sets.test))
        sets = Sets(train, dev, test, [])
    chosen = {"epochs": options.epochs, "seed": options.seed, "set": (tuple(options.set),)}
    command = Finetune(real.task, options.model, train=options.data, **chosen)
    recipe = recipe_of(command)
    adamw = Optimization("adamw", options.adamw_rates[0], warmup=0.1, weight_decay=0.01, beta2=0.999)
    return Run(name, real, sets, recipe, replace(recipe, optim=adamw))


def tuned(run: Run, rates: Sequence[float]) -> Run:
    """With the learning rate for AdamW that ends best on the dev set; no run is made where there is but one."""
    recipes = [replace(run.adamw, optim=replace(run.adamw.optim, learning_rate=rate)) for rate in rates]
    best = max(recipes, key=lambda recipe: last_evaluation(run, recipe)) if len(rates) > 1 else recipes[0]
    return replace(run, adamw=best)


def last_evaluation(run: Run, recipe: FinetuneRecipe) -> float:
    """The main measure on the dev set after training."""
    result = finetune(recipe, run.sets.train, run.sets.dev)
    figure = result.evaluations[-1][result.task.best]
    say(f"{run.name}: learning rate {recipe.optim.learning_rate:g} for AdamW ends at {figure:.3f} on the dev set")
    return figure


def measured(run: Run, measures: dict[str, float]) -> str:
    """The main measures, with their intervals where there are some."""
    parts = []
    for name in run.real.measures:
        low, high = measures.get(f"{name}_low"), measures.get(f"{name}_high")
        spread = "" if low is None else f" ({low:.3f} to {high:.3f})"
        parts.append(f"{name} {measures[name]:.3f}{spread}")
    return ", ".join(parts)


def judge(run: Run, task: Task, model) -> str:
    return measured(run, task.measures(run.sets.test, list(task.predict(model, run.sets.test))))


def by_us(run: Run, recipe: FinetuneRecipe, dev: Sequence, model=None) -> list[str]:
    """Measures, steps and seconds of bertlab's fine-tuning, with all its evaluations on the dev set."""
    result = finetune(recipe, run.sets.train, dev, model=model)
    last = result.rows[-1]
    return [judge(run, result.task, result.model), f"{last['step']:,}", f"{last['seconds']:.0f}"]


def by_trainer(run: Run) -> list[str]:
    task = run.task
    model, seconds, steps = with_trainer.learn(run.adamw, task, run.sets.train)
    return [judge(run, task, model), f"{steps:,}", f"{seconds:.0f}"]


def learners(run: Run) -> dict[str, Callable[[], list[str]]]:
    """Who learns the task: name -> what it reached, its steps and seconds."""
    guesses = run.task.baselines(run.sets.train, run.sets.test).items()
    rate = run.adamw.optim.learning_rate
    constant = {name: lambda found=found: [measured(run, found), "", ""] for name, found in guesses}
    simple = run.real.simple.items()
    return {
        **constant,
        **{name: lambda learn=learn: [measured(run, learn(run.sets)), "", ""] for name, learn in simple},
        "bertlab, random": lambda: by_us(run, run.ours, run.sets.dev, untrained(run.ours, run.sets.train)),
        "bertlab": lambda: by_us(run, run.ours, run.sets.dev),
        f"bertlab, AdamW at {rate:g}": lambda: by_us(run, run.adamw, ()),
        f"Trainer, AdamW at {rate:g}": lambda: by_trainer(run),
    }


def quality(runs: Iterable[Run], ours: bool) -> None:
    print(head(HEAD))
    for run in runs:
        sizes = " / ".join(f"{len(part):,}" for part in (run.sets.train, run.sets.dev, run.sets.test))
        for name, learn in learners(run).items():
            if ours and "AdamW" in name:
                continue
            say(f"{run.name} ({sizes}): {name} ...")
            print(line([f"{run.name} ({sizes})", name, *learn()]), flush=True)
    print()


def speed(runs: Sequence[Run], rounds: int, steps: int) -> None:
    print(head(RACE_HEAD))
    for run in runs:
        say(f"{run.name}: {rounds} rounds of {steps} steps ...")
        rates = with_trainer.race(run.ours, run.adamw, run.task, run.sets.train, rounds, steps)
        for row in with_ratios(rates, ",.0f"):
            print(line([run.name, *row]), flush=True)
    print()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--only", nargs="+", choices=REAL, default=REAL)
    parser.add_argument("--model", default="english")
    parser.add_argument("--epochs", type=float, help="3 if not given")
    parser.add_argument("--adamw-rates", nargs="+", type=float, default=RATES, help="learning rates to choose from")
    parser.add_argument("--seed", type=int, default=0, help="of the head and of the order; the sets stay the same")
    parser.add_argument("--set", nargs="+", default=(), help="FIELD=VALUE, as bertlab finetune has it")
    parser.add_argument("--few", type=int, help="only so many examples of each set, to see whether it runs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="of the race")
    parser.add_argument("--steps", type=int, default=30, help="that are timed in a round")
    parser.add_argument("--ours", action="store_true", help="leave out AdamW and Trainer")
    parser.add_argument("--quality", action="store_true", help="no race")
    parser.add_argument("--speed", action="store_true", help="the race alone")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    there = [name for name in options.only if (options.data / REAL[name].folder).is_dir()]
    for name in sorted(set(options.only) - set(there)):
        say(f"{name} is left out: there is no folder {options.data / REAL[name].folder}")
    runs = [prepare(name, options) for name in there]
    if not options.speed:
        quality((tuned(run, options.adamw_rates[: 1 if options.ours else None]) for run in runs), options.ours)
    if not options.quality:
        speed(runs, options.rounds, options.steps)
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; {options.model}, seed {options.seed}")


if __name__ == "__main__":
    main()
