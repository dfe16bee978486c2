"""One run of `bertlab finetune`: train, measure, and compare with baselines and with random weights."""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from tqdm.auto import tqdm

from bertlab.cli.shared.examples import Sets, known_examples, note_skipped
from bertlab.cli.shared.messages import end_stopped, measuring, reached, say
from bertlab.config import BertConfig
from bertlab.evaluation.baselines import save_baselines
from bertlab.evaluation.card import write_card
from bertlab.evaluation.report import can_draw, write_report
from bertlab.evaluation.wording import second_label
from bertlab.io.atomic import atomic_write
from bertlab.io.files import read_text
from bertlab.io.json_files import parse_json
from bertlab.model.base import PretrainedModel, only_here
from bertlab.model.weights import weights_file
from bertlab.tasks.base import Task
from bertlab.tasks.files import naming
from bertlab.tasks.registry import find_task, open_task
from bertlab.training.engine.checkpoints import Checkpoints
from bertlab.training.engine.devices import is_first
from bertlab.training.engine.reproducibility import Conditions
from bertlab.training.finetune import finetune, head_config, start_model, task_and_fields
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.grid import run_trial, search
from bertlab.training.run_files import read_rows
from bertlab.training.run_folder import MEASURES, STATES, check_data, check_recipe, note_data
from bertlab.training.run_settings import FinetuneSettings

INNER = re.compile("_(low|high)$|:")  # bounds, and figures of single classes
COMPARISON = "comparison.json"
OURS, RANDOM = "this run", "from random weights"

Measures = dict[str, float]


@dataclass(frozen=True)
class Options:
    """What the command line asks for beside the recipe. `lengthened` returns the recipe with more epochs where examples
    are few; `line` is the command for the card; `free`: the weights may be given away; `skip`: leave out examples to
    measure by whose label is never learned."""

    settings: FinetuneSettings
    grid: bool
    control: bool
    line: str
    free: bool
    lengthened: Callable[[FinetuneRecipe, Sets], FinetuneRecipe]
    skip: bool = False


def run_once(options: Options, recipe: FinetuneRecipe, sets: Sets, out: Path) -> dict[str, Measures]:
    """Train in the run folder `out`, unless that is done, and write its report and its card. The labels of `sets` have
    been checked (see check_known_labels).

    Returns the measures of the run, and then those of what it is compared with, by name; nothing in a process that only
    helps to compute.
    """
    recipe = learn(options, options.lengthened(recipe, sets), sets, out)
    if not is_first():
        return {}
    if options.control:
        learn_control(options, recipe, sets, out)
    with measuring(f"{len(sets.test):,} examples"):
        rows = measure(out, recipe, sets, options)
    atomic_write(out / COMPARISON, json.dumps(rows, indent=2) + "\n")
    task = find_task(recipe.task)
    about = f"{recipe.model}, fine-tuned: {task.about}. " + " ".join(sets.notes)
    if note := only_here(BertConfig.from_pretrained(out), task.family.head.__name__):
        say(f"note: {note}")
        about += f"\n\nNote: {note}."
    measures, others = rows[OURS], {name: row for name, row in rows.items() if name != OURS}
    card = asdict(recipe), measures, trained_for(out), options.line, options.free, others
    write_card(out, recipe.name, about, *card, second=second_label(out))
    return rows


def check_known_labels(recipe: FinetuneRecipe, sets: Sets, skip: bool) -> None:
    """Raise an InputError, before the training, for a label to be measured by that is never learned; with `skip` leave
    such examples out of `sets`, and say and note it."""
    with naming(sets.sources[0]):
        task, fields = task_and_fields(recipe, sets.train)
    config, _ = head_config(recipe, fields)
    dev_is_test = sets.dev is sets.test
    for source, part in zip(sets.sources, ("train", "dev", "test"), strict=True):
        with naming(source):
            known, left_out = known_examples(task, getattr(sets, part), config, skip)
        note_skipped(left_out and f"{source}, {part}: {left_out}", source, sets.notes)
        setattr(sets, part, known)
        if dev_is_test:
            sets.test = sets.dev


def learn(options: Options, recipe: FinetuneRecipe, sets: Sets, out: Path) -> FinetuneRecipe:
    """Train in the run folder, unless that is done already; return the recipe, of a grid the best one."""
    can_draw()  # if not, better said now than after the training
    report_once = cache(say)  # each setting of a grid is another run

    def begin(task: Task, conditions: Conditions) -> None:
        report_once(conditions)
        if not options.grid:
            save_baselines(out, task.baselines(sets.train, sets.dev))

    def report(setting: str, measures: Measures) -> None:
        say(f"{setting}: {measures['best']:.3f} on the dev set")

    if options.grid:
        data = recipe, sets.train, sets.dev, out
        best = search(*data, settings=replace(options.settings, on_start=begin), on_trial=report)
        return best or end_stopped("in the middle of the grid")
    if options.settings.resume and is_trained(out):
        check_recipe(out, recipe)
        check_data(out, sets.train, sets.dev)
        return recipe
    settings = replace(options.settings, on_start=begin, on_evaluation=report_evaluation)
    result = finetune(recipe, sets.train, sets.dev, settings=settings, out=out)
    if result.stopped:
        end_stopped(f"at {reached(result.rows)}")
    note_data(out, sets.train, sets.dev)
    return recipe


def learn_control(options: Options, recipe: FinetuneRecipe, sets: Sets, out: Path) -> None:
    """Train the same from random weights in `out`/control, unless that is done already."""
    folder = out / "control"
    if (folder / MEASURES).exists():
        check_data(folder, sets.train, sets.dev)
        return
    say("the same from random weights ...")
    settings = replace(options.settings, on_evaluation=report_evaluation)
    if not run_trial(folder, recipe, sets.train, sets.dev, settings, model=untrained(recipe, sets.train)):
        end_stopped("in the run from random weights")


def untrained(recipe: FinetuneRecipe, examples: Sequence) -> PretrainedModel:
    """Return the model that fine-tuning starts from, but no weight of it has seen a text."""
    from bertlab.explain.ablation import random_control

    return random_control(start_model(recipe, *task_and_fields(recipe, examples)), recipe.seed)


def is_trained(out: Path) -> bool:
    """Return whether the run was ended after its last step, so that only its measures are missing."""
    return weights_file(out) is not None and not (Checkpoints(out / STATES) or (out / MEASURES).exists())


def baselines_of(out: Path, sets: Sets, task: Task) -> Mapping[str, Measures]:
    """Return the baselines on the test set: those of the run folder, if the dev set is the test set."""
    file = out / "baselines.json"
    if sets.test is sets.dev and file.exists():
        return {row.pop("name"): row for row in parse_json(read_text(file), file)}
    return task.baselines(sets.train, sets.test)


def report_evaluation(row: Measures) -> None:
    """Print the figures of an evaluation on the dev set, above the progress bar."""
    shown = [f"{name} {value:.3f}" for name, value in row.items() if name != "step" and not INNER.search(name)]
    tqdm.write(f"step {row['step']:,}, dev set: {', '.join(shown)}", file=sys.stderr)


def measure(out: Path, recipe: FinetuneRecipe, sets: Sets, options: Options) -> dict[str, Measures]:
    """Return the measures of the saved model on the test set and of what it is compared with; write report.md."""
    sizes = [f"{len(examples):,}" for examples in (sets.train, sets.dev, sets.test)]
    learned = "Learned from {} examples, the checkpoint chosen by {}, measured on {}.".format(*sizes)
    task, predictions = predict(out, sets.test, options)
    measures = task.measures(sets.test, predictions)
    others: dict[str, Measures] = {}
    if options.control:
        others[RANDOM] = task.measures(sets.test, predict(out / "control", sets.test, options)[1])
    others |= baselines_of(out, sets, task)
    write_report(
        out,
        recipe.name,
        measures,
        rows=read_rows(out / "metrics.csv"),
        evaluations=read_rows(out / "dev.csv"),
        baselines=others,
        confusions=task.confusions(sets.test, predictions),
        comparisons=task.compare(sets.test, predictions),
        notes=[learned, *sets.notes],
        second=second_label(out),
    )
    return {OURS: measures, **others}


def predict(folder: Path, examples: Sequence, options: Options) -> tuple[Task, list]:
    """Return the task of a run and its predictions."""
    model, task = open_task(folder, options.settings.device)
    return task, list(task.predict(model, tqdm(examples, unit="example", leave=False)))


def trained_for(out: Path) -> float:
    """Return the seconds of the training, those before a kill and of all settings of a grid included."""
    folders = [*(out / "grid").glob("*")] or [out]
    return sum(rows[-1]["seconds"] for folder in folders if (rows := read_rows(folder / "metrics.csv")))
