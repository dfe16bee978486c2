"""`bertlab finetune`: a pretrained model learns a task; with its report, its measures and its card."""

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bertlab.cli.messages import end_stopped, reached, report_saved, say
from bertlab.cli.settings import RECIPE_OPTIONS, Flat, Positional, Settings, all_settings, command_line, recipe_from
from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.tasks.files import FileOptions, naming
from bertlab.training.run_settings import RunSettings

if TYPE_CHECKING:
    from bertlab.cli.examples import Sets
    from bertlab.tasks.base import Task
    from bertlab.training.engine.conditions import Conditions
    from bertlab.training.recipes import FinetuneRecipe

LEAST_STEPS = 200  # below, an encoder hardly moves
INNER = re.compile("_(low|high)$|:")  # bounds, and figures of single classes
WORLD_EVALUATIONS = 250  # steps from one to the next on examples of the storyworld
OWN_OPTIONS = ("model", *RECIPE_OPTIONS, "epochs", "max_length")  # fields of the recipe
IN_CARD = (*OWN_OPTIONS, "precision", "set", "grid")


@dataclass(frozen=True)
class Finetune:
    """Teach a pretrained model a task, on examples of yours or of the small world that comes with bertlab.

    Writes a run folder that is itself a checkpoint, with report.md: figures with intervals, confusions, the worst
    examples. The checkpoint that was best on the dev set is the one that is kept.
    """

    task: Positional[str] = "qa"
    """sentence: a class, a number or several classes for each text; pair: the same for two texts; token: a label for
    each word; qa: questions whose answer is a span of a passage; choice: which of several continuations is right;
    match: which texts mean the same, by one vector for each. Of the small world: sentiment, entailment, matching,
    entities, qa, choice; from docstrings of the installed packages: match."""
    model: str = "storyworld-tiny"
    """The pretrained model: a bundled name, a folder or a hub id."""
    train: Path | None = None
    """Examples to learn from: CSV, TSV or JSON lines (sentence, pair, choice, match), CoNLL columns (token), SQuAD JSON
    (qa); if not given, the small world's own, or docstrings."""
    dev: Path | None = None
    """Examples to choose the best checkpoint by; a tenth of the training file if not given."""
    test: Path | None = None
    """Examples to measure it on in the end; those of --dev if not given."""
    files: Flat[FileOptions] = FileOptions()
    dataset: str | None = None
    """Instead of files a data set of the hub: sst2, mrpc, mnli, squad, wnut_17, swag ..., or org/name with its columns;
    or the folder of one."""
    out: Path | None = None
    """The run folder; runs/MODEL-TASK if not given."""
    epochs: float | None = None
    """How often to read all examples; 3 if not given, more where that makes fewer than 200 steps."""
    steps: int | None = None
    """Number of steps, instead of epochs."""
    batch_size: int | None = None
    """Examples in a step; 32 if not given."""
    learning_rate: float | None = None
    """Top learning rate; if not given, what suits the model's width."""
    max_length: int | None = None
    """Tokens of a row; 128 if not given, 384 for qa."""
    seed: int | None = None
    """Seed of the new head and of the order of examples."""
    siamese: bool = False
    """For match, which always does it: encode each text alone (a siamese network). matching sees both texts at once."""
    grid: bool = False
    """Try the paper's settings (3 learning rates, batches of 16 and 32, 2 to 4 epochs) and keep the best on dev."""
    set: Settings = ()
    """Any other field of the recipe, as FIELD=VALUE: pooling=mean layer_mix=sum-last-4 token_decoder=crf freeze=encoder
    problem=regression label_smoothing=0.1 optim.layer_decay=0.9 patience=3 ...; the fields are those of FinetuneRecipe,
    in bertlab/training/recipes.py."""
    settings: Flat[RunSettings] = RunSettings()

    def run(self) -> None:
        """Train, or go through the grid; then measure and write the card."""
        from bertlab.cli.examples import Sources, read_sets
        from bertlab.evaluation.card import write_card
        from bertlab.tasks.registry import find_task
        from bertlab.training.recipes import as_record

        recipe = recipe_of(self)
        sets = read_sets(Sources(self.train, self.dev, self.test, self.dataset, self.files), recipe)
        check_labels(recipe, sets)
        recipe = enough_steps(self, recipe, sets)
        out = (self.out or Path("runs") / recipe.name).expanduser()
        recipe = learn(self, recipe, sets, out)
        say(f"measuring on {len(sets.test):,} examples ...")
        measures = measure(out, recipe, sets, self.settings.device)
        line = command_line(f"finetune {self.task}", self, IN_CARD)
        about = f"{recipe.model}, fine-tuned: {find_task(recipe.task).about}. " + " ".join(sets.notes)
        free = not (self.train or self.dataset)
        write_card(out, recipe.name, about, as_record(recipe), measures, trained_for(out), line, free)
        report_saved(out, measures)


def recipe_of(command: Finetune) -> "FinetuneRecipe":
    """Return the recipe that the options ask for; what they leave open suits the model and the task."""
    from bertlab.tasks.registry import find_task
    from bertlab.training.recipes import FinetuneRecipe, suited_optimization

    if command.siamese and command.task != "match":
        raise InputError(
            f"--siamese: {command.task} sees both texts at once; the task that encodes each alone is match"
        )
    if command.steps is not None and command.steps < 1:
        raise InputError(f"--steps {command.steps}: must be at least 1")
    if command.grid and (given := tried_by_grid(command)):
        raise InputError(f"--grid tries values of its own: leave out {given[0]}")
    config = BertConfig.from_pretrained(command.model)
    length = min(find_task(command.task).family.usual_length, config.max_position_embeddings)
    recipe = FinetuneRecipe(command.task, max_length=length, optim=suited_optimization(config.hidden_size))
    if not (command.train or command.dataset):
        recipe = replace(recipe, epochs=1.0, evaluate_every=WORLD_EVALUATIONS)  # stories do not run out
    return recipe_from(recipe, command, OWN_OPTIONS)


def tried_by_grid(command: Finetune) -> list[str]:
    """Return the options given that --grid would overrule."""
    names = ("epochs", "steps", "batch_size", "learning_rate")
    options = [f"--{name.replace('_', '-')}" for name in names if getattr(command, name) is not None]
    return options + [f"--set {s}" for s in all_settings(command) if s.partition("=")[0].rpartition(".")[2] in names]


def enough_steps(command: Finetune, recipe: "FinetuneRecipe", sets: "Sets") -> "FinetuneRecipe":
    """Return the recipe, with more epochs if examples are few and no number was given (Mosbach et al. 2021)."""
    given = {setting.partition("=")[0] for setting in all_settings(command)} & {"epochs", "steps"}
    planned = recipe.count_steps(len(sets.train))
    if given or command.epochs or command.steps or command.grid or planned >= LEAST_STEPS:
        return recipe
    sets.notes.append(f"{recipe.epochs:g} epochs would have been {planned} steps; it was trained for {LEAST_STEPS}.")
    return replace(recipe, steps=LEAST_STEPS, evaluate_every=recipe.evaluate_every or LEAST_STEPS // 10)


def check_labels(recipe: "FinetuneRecipe", sets: "Sets") -> None:
    """Raise an InputError, before the training, for a label to be measured by that is never learned."""
    from bertlab.training.finetune import head_config, task_and_fields

    with naming(sets.sources[0]):
        task, fields = task_and_fields(recipe, sets.train)
    config, _ = head_config(recipe, fields)
    for source, examples in zip(sets.sources, (sets.train, sets.dev, sets.test), strict=True):
        with naming(source):
            task.check(examples, config)


def learn(command: Finetune, recipe: "FinetuneRecipe", sets: "Sets", out: Path) -> "FinetuneRecipe":
    """Train in the run folder, unless that is done already; return the recipe, of a grid the best one."""
    from bertlab.training.finetune import finetune
    from bertlab.training.grid import search
    from bertlab.training.recipes import as_record
    from bertlab.training.run_folder import check_recipe

    report_once = cache(say)  # each setting of a grid is another run

    def begin(task: "Task", conditions: "Conditions") -> None:
        report_once(conditions)
        if not command.grid:
            write_baselines(out, sets, task)

    if command.grid:
        data = recipe, sets.train, sets.dev, out
        best = search(*data, settings=command.settings, on_trial=report_trial, on_start=begin)
        return best or end_stopped("in the middle of the grid")
    if command.settings.resume and is_trained(out):
        check_recipe(out, as_record(recipe))
        return recipe
    result = finetune(
        recipe,
        sets.train,
        sets.dev,
        settings=command.settings,
        out=out,
        on_start=begin,
        on_evaluation=report_evaluation,
    )
    if result.stopped:
        end_stopped(f"at {reached(result.rows)}")
    return recipe


def is_trained(out: Path) -> bool:
    """Return whether the run was ended after its last step, so that only its measures are missing."""
    from bertlab.model.weights import WEIGHTS
    from bertlab.training.engine.checkpoints import Checkpoints
    from bertlab.training.run_folder import MEASURES

    return (out / WEIGHTS).exists() and not (Checkpoints(out / "resume") or (out / MEASURES).exists())


def write_baselines(out: Path, sets: "Sets", task: "Task") -> None:
    """Write baselines.json to the run folder: guesses without a model, to read dev.csv against."""
    from bertlab.io.atomic import atomic_write

    records = [{"name": name, **measures} for name, measures in task.baselines(sets.train, sets.dev).items()]
    atomic_write(out / "baselines.json", json.dumps(records, indent=2) + "\n")


def report_evaluation(row: dict[str, float]) -> None:
    """Print the figures of an evaluation on the dev set, above the progress bar."""
    import sys

    from tqdm.auto import tqdm

    shown = [f"{name} {value:.3f}" for name, value in row.items() if name != "step" and not INNER.search(name)]
    tqdm.write(f"step {row['step']:,}, dev set: {', '.join(shown)}", file=sys.stderr)


def report_trial(setting: str, measures: dict[str, float]) -> None:
    """Print what a setting of the grid reached."""
    say(f"{setting}: {measures['best']:.3f} on the dev set")


def measure(out: Path, recipe: "FinetuneRecipe", sets: "Sets", device: str) -> dict[str, float]:
    """Return the measures of the saved model on the test set, and write report.md."""
    from tqdm.auto import tqdm

    from bertlab.evaluation.report import write_report
    from bertlab.tasks.registry import open_task
    from bertlab.training.run_folder import read_rows

    model, task = open_task(out, device)
    sizes = [f"{len(examples):,}" for examples in (sets.train, sets.dev, sets.test)]
    learned = "Learned from {} examples, the checkpoint chosen by {}, measured on {}.".format(*sizes)
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
        notes=[learned, *sets.notes],
    )
    return measures


def trained_for(out: Path) -> float:
    """Return the seconds of the training, those before a kill and of all settings of a grid included."""
    from bertlab.training.run_folder import read_rows

    folders = [*(out / "grid").glob("*")] or [out]
    return sum(rows[-1]["seconds"] for folder in folders if (rows := read_rows(folder / "metrics.csv")))
