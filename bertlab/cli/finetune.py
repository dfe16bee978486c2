"""What `bertlab finetune` does: examples and recipe from the arguments, fine-tuning, report and card."""

import json
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from tqdm.auto import tqdm

from bertlab.cli.pretrain import (
    PRETRAIN_OPTIONS,
    STORYWORLD,
    command_line,
    end_stopped,
    finish,
    override,
    reached,
    say,
    settings,
)
from bertlab.cli.settings import with_settings
from bertlab.config import BertConfig
from bertlab.corpora.hub_datasets import HubSet, read_hub
from bertlab.corpora.reading import Skipped
from bertlab.errors import InputError
from bertlab.evaluation.card import write_card
from bertlab.evaluation.report import plain, write_report
from bertlab.io.atomic import atomic_write
from bertlab.model.weights import WEIGHTS
from bertlab.tasks.base import Task
from bertlab.tasks.files import naming, some
from bertlab.tasks.registry import TASKS, find_task, open_task
from bertlab.training.engine.checkpoints import Checkpoints
from bertlab.training.finetune import finetune, head_config, settle
from bertlab.training.grid import search
from bertlab.training.recipes import FinetuneRecipe, as_record, suited_optimization
from bertlab.training.run_folder import MEASURES, check_recipe, read_rows

DEV_SHARE, MOST_DEV = 0.1, 2000  # of the training file, where no dev file is given
FEW = 50  # examples to choose by
LEAST_STEPS = 200  # below, an encoder hardly moves
INNER = re.compile("_(low|high)$|:")  # bounds, and figures of single classes
CHOSEN = "The checkpoint was chosen by the examples that it is measured on, which flatters it a little."
WORLD_DEV, WORLD_TEST, WORLD_LOOKS = 500, 2000, 250  # examples, examples, steps from look to look
OPTIONS = ("model", *PRETRAIN_OPTIONS, "epochs", "max_length", "precision", "set", "grid")


@dataclass
class Sets:
    """Examples to learn from, to choose the best checkpoint by, to measure it on; what a report says of them; and
    the files or data sets that they come from, for messages."""

    train: Sequence
    dev: Sequence
    test: Sequence
    notes: list[str]
    sources: tuple[str | Path, str | Path, str | Path] = ("train", "dev", "test")


def run_finetune(command) -> None:
    """`bertlab finetune`."""
    recipe = recipe_of(command)
    sets = read_sets(command, recipe)
    check_labels(recipe, sets)
    recipe = enough_steps(command, recipe, sets)
    out = (command.out or Path("runs") / recipe.name).expanduser()
    how = {name: getattr(command, name) for name in ("half", "device", "precision", "resume")}
    how["on_settled"] = cache(say)  # once, though each setting of a grid is another run
    if command.grid:
        recipe = search(recipe, sets.train, sets.dev, out, on_trial=show_trial, **how)
        if recipe is None:
            end_stopped("in the middle of the grid")
    elif command.resume and is_trained(out):
        check_recipe(out, as_record(recipe))
    else:
        begin = partial(note_baselines, out, sets)
        result = finetune(recipe, sets.train, sets.dev, out=out, on_start=begin, on_look=show_look, **how)
        if result.stopped:
            end_stopped(f"at {reached(result)}")
    say(f"measuring on {len(sets.test):,} examples ...")
    measures = measure(out, recipe, sets, command.device)
    line = command_line(f"finetune {command.task}", command, OPTIONS)
    about = f"{recipe.model}, fine-tuned: {find_task(recipe.task).about}. " + " ".join(sets.notes)
    free = not (command.train or command.dataset)
    write_card(out, recipe.name, about, as_record(recipe), measures, trained_for(out), line, free)
    finish(out, measures)


def note_baselines(out: Path, sets: Sets, task: Task) -> None:
    """Write down what the figures of dev.csv are read against: guesses that need no model."""
    records = [{"name": name, **measures} for name, measures in task.baselines(sets.train, sets.dev).items()]
    atomic_write(out / "baselines.json", json.dumps(records, indent=2) + "\n")


def is_trained(out: Path) -> bool:
    """Whether a run was ended after its last step, so that only its measures are missing."""
    return (out / WEIGHTS).exists() and not (Checkpoints(out / "resume") or (out / MEASURES).exists())


def recipe_of(command) -> FinetuneRecipe:
    """The recipe that the arguments ask for; what they leave open suits the model and the task."""
    if command.steps is not None and command.steps < 1:
        raise InputError(f"--steps {command.steps}: must be at least 1")
    if command.grid and (given := tried(command)):
        raise InputError(f"--grid tries values of its own: leave out {given[0]}")
    config = BertConfig.from_pretrained(command.model)
    length = min(find_task(command.task).family.usual_length, config.max_position_embeddings)
    recipe = FinetuneRecipe(command.task, max_length=length, optim=suited_optimization(config.hidden_size))
    if not (command.train or command.dataset):
        recipe = replace(recipe, epochs=1.0, evaluate_every=WORLD_LOOKS)  # stories do not run out
    recipe = override(recipe, command, ("model", *PRETRAIN_OPTIONS, "epochs", "max_length"))
    return with_settings(recipe, settings(command))


def tried(command) -> list[str]:
    """The options given that --grid would overrule."""
    names = ("epochs", "steps", "batch_size", "learning_rate")
    options = [f"--{name.replace('_', '-')}" for name in names if getattr(command, name) is not None]
    return options + [f"--set {s}" for s in settings(command) if s.partition("=")[0].rpartition(".")[2] in names]


def enough_steps(command, recipe: FinetuneRecipe, sets: Sets) -> FinetuneRecipe:
    """The recipe for so many examples: of few, more epochs than three unless told how many (Mosbach et al. 2021)."""
    told = {setting.partition("=")[0] for setting in settings(command)} & {"epochs", "steps"}
    planned = recipe.count_steps(len(sets.train))
    if told or command.epochs or command.steps or command.grid or planned >= LEAST_STEPS:
        return recipe
    sets.notes.append(f"{recipe.epochs:g} epochs would have been {planned} steps; it was trained for {LEAST_STEPS}.")
    return replace(recipe, steps=LEAST_STEPS, evaluate_every=recipe.evaluate_every or LEAST_STEPS // 10)


def check_labels(recipe: FinetuneRecipe, sets: Sets) -> None:
    """A label to be measured by that is never learned is named before the training, not after."""
    with naming(sets.sources[0]):
        task, settled = settle(recipe, sets.train)
    config, _ = head_config(recipe, settled)
    for source, examples in zip(sets.sources, (sets.train, sets.dev, sets.test), strict=True):
        with naming(source):
            task.check(examples, config)


def read_sets(command, recipe: FinetuneRecipe) -> Sets:
    """Examples of the user's files, of a data set of the hub, or of the storyworld."""
    if command.train and command.dataset:
        raise InputError("give one of --train and --dataset")
    if command.train:
        return file_sets(command, recipe)
    for option in ("dev", "test"):
        if getattr(command, option):
            raise InputError(f"--{option} {getattr(command, option)}: needs --train, the examples to learn from")
    return hub_sets(command, recipe) if command.dataset else world_sets(recipe)


def hub_sets(command, recipe: FinetuneRecipe) -> Sets:
    """The training split, and the one to choose by; the test splits of the hub often have no labels."""
    task, skipped = find_task(recipe.task), command.files.skipped()
    source = task.family.hub_set(command.dataset, command.files.columns, recipe.problem)
    train, dev = (read_split(source, split, task.pairs, skipped) for split in ("train", source.dev))
    notes = [f"{source.address}.", CHOSEN]
    note_skipped(skipped, source.address, notes)
    return Sets(train, dev, dev, notes, (source.address,) * 3)


def read_split(source: HubSet, split: str, pairs: bool, skipped: Skipped | None) -> list:
    examples = read_hub(source, split, pairs=pairs, skipped=skipped)
    return list(some(examples, f"{source.address}, {split}", skipped))


def world_sets(recipe: FinetuneRecipe) -> Sets:
    """Examples of the storyworld; dev and test hold combinations that train never shows."""
    world = find_task(recipe.task).storyworld
    if world is None:
        own = ", ".join(name for name, task in TASKS.items() if task.storyworld)
        raise InputError(f"finetune {recipe.task} learns from a file of yours: name it with --train (without: {own})")
    sizes = {"train": recipe.examples, "dev": WORLD_DEV, "test": WORLD_TEST}
    seeds = {"train": recipe.seed, "dev": 0, "test": 0}
    made = (tqdm(world(seeds[s], n, s), f"{s} examples", n, leave=False, unit="example") for s, n in sizes.items())
    return Sets(*map(list, made), [STORYWORLD], tuple(sizes))


def file_sets(command, recipe: FinetuneRecipe) -> Sets:
    """Examples of the user's files; without a dev file a tenth of the training file, without a test file dev again."""
    notes: list[str] = []
    sources = command.train, command.dev or command.train, command.test or command.dev or command.train
    train = read_file(command, recipe, command.train, notes)
    if command.dev:
        dev = read_file(command, recipe, command.dev, notes)
    else:
        with naming(command.train):
            train, dev = split_off(train, recipe.seed)
        notes.append(f"{len(dev):,} examples of the training file, drawn by the seed, were kept away from training.")
    if len(dev) < FEW:
        notes.append(f"Chosen by {len(dev)} examples, which tell one checkpoint from another only roughly.")
    if command.test:
        return Sets(train, dev, read_file(command, recipe, command.test, notes), notes, sources)
    return Sets(train, dev, dev, [*notes, CHOSEN], sources)


def read_file(command, recipe: FinetuneRecipe, path: Path, notes: list[str]) -> list:
    task = find_task(recipe.task)
    options = command.files.reading(recipe.problem, task.pairs)
    examples = list(task.family.read_examples(path, options))
    note_skipped(options.skipped, path, notes)
    return examples


def note_skipped(skipped: Skipped | None, source: str | Path, notes: list[str]) -> None:
    """Say what was left out, and note it for the report, which need not know the user's folders."""
    if skipped and skipped.count:
        say(str(skipped))
        notes.append(plain(str(skipped).replace(str(source), Path(source).name)) + ".")


def split_off(examples: list, seed: int) -> tuple[list, list]:
    """(to learn from, to choose by): a tenth, at most 2,000, drawn by the seed."""
    size = min(MOST_DEV, int(len(examples) * DEV_SHARE))
    if size < 1:
        raise InputError(f"{len(examples)} examples are too few to keep some for measuring: give a file with --dev")
    order = list(range(len(examples)))
    random.Random(seed).shuffle(order)
    kept = set(order[:size])
    return [e for i, e in enumerate(examples) if i not in kept], [e for i, e in enumerate(examples) if i in kept]


def show_look(row: dict[str, float]) -> None:
    shown = [f"{name} {value:.3f}" for name, value in row.items() if name != "step" and not INNER.search(name)]
    tqdm.write(f"step {row['step']:,}, dev set: {', '.join(shown)}", file=sys.stderr)


def show_trial(setting: str, measures: dict[str, float]) -> None:
    say(f"{setting}: {measures['best']:.3f} on the dev set")


def measure(out: Path, recipe: FinetuneRecipe, sets: Sets, device: str) -> dict[str, float]:
    """The measures of the saved model on the test set, with report.md about them."""
    model, task = open_task(out, device)
    sizes = [f"{len(part):,}" for part in (sets.train, sets.dev, sets.test)]
    said = "Learned from {} examples, the checkpoint chosen by {}, measured on {}.".format(*sizes)
    predictions = list(task.predict(model, tqdm(sets.test, unit="example", leave=False)))
    measures = task.measures(sets.test, predictions)
    write_report(
        out,
        recipe.name,
        measures,
        rows=read_rows(out / "metrics.csv"),
        evaluations=read_rows(out / "dev.csv"),
        baselines=task.baselines(sets.train, sets.test),
        confusions=task.confusions(sets.test, predictions),
        comparisons=task.compare(sets.test, predictions),
        notes=[said, *sets.notes],
    )
    return measures


def trained_for(out: Path) -> float:
    """Seconds of the training, those before a kill too; of all settings that a grid tried."""
    folders = [*(out / "grid").glob("*")] or [out]
    return sum(rows[-1]["seconds"] for folder in folders if (rows := read_rows(folder / "metrics.csv")))
