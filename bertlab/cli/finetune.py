"""`bertlab finetune`: a pretrained model learns a task; with its report, its measures and its card."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bertlab.cli.shared.messages import report_saved
from bertlab.cli.shared.settings import (
    RECIPE_OPTIONS,
    Flat,
    Positional,
    Settings,
    all_settings,
    check_above_zero,
    command_line,
    recipe_from,
)
from bertlab.config import BertConfig
from bertlab.errors import InputError, require
from bertlab.io.files import expanded
from bertlab.tasks.files import FileOptions
from bertlab.training.run_settings import FinetuneSettings

if TYPE_CHECKING:
    from bertlab.cli.shared.examples import Sets
    from bertlab.training.finetune_recipe import FinetuneRecipe

LEAST_STEPS = 200  # below, an encoder hardly moves
WORLD_EVALUATIONS = 250  # steps from one to the next on examples of the storyworld
OWN_OPTIONS = ("model", *RECIPE_OPTIONS, "epochs", "max_length", "class_weights", "lora")  # fields of the recipe
IN_CARD = (*OWN_OPTIONS, "precision", "set", "grid", "folds")


@dataclass(frozen=True)
class Finetune:
    """Teach a pretrained model a task, on examples of yours or of the small world that comes with bertlab.

    Writes a run folder that is itself a checkpoint, with report.md: figures with intervals beside those of simple
    baselines, confusions, the worst examples. The checkpoint that was best on the dev set is the one that is kept.
    """

    task: Positional[str] = "qa"
    """sentence: a class, a number or several classes for each text; pair: the same for two texts; token: a label for
    each word; qa: questions whose answer is a span of a passage; choice: which of several continuations is right;
    match: which texts mean the same, by one vector for each. Of the small world: sentiment, entailment, matching,
    entities, qa, choice; from docstrings of the installed packages: match."""
    model: str | None = None
    """The pretrained model: a bundled name, a folder or a hub id. If not given: english, or for examples of the
    small world storyworld-tiny."""
    train: Path | None = None
    """Examples to learn from: CSV, TSV or JSON lines (sentence, pair, choice, match), CoNLL columns or JSON lines
    (token), SQuAD JSON (qa); if not given, the small world's own, or docstrings."""
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
    """Top learning rate; if not given, what suits the model: see bertlab/training/engine/optim.py."""
    max_length: int | None = None
    """Tokens of a row; 128 if not given, 384 for qa."""
    seed: int | None = None
    """Seed of the new head and of the order of examples."""
    class_weights: Literal["none", "balanced"] | None = None
    """balanced: a rare class counts as much as a frequent one, whatever the number of its examples."""
    lora: int | None = None
    """Learn small changes of this rank alone (LoRA), 16 say, and save an adapter of a few MB: a folder of peft."""
    control: bool = False
    """Train once more, from random weights, and report both: what pretraining adds is the difference."""
    folds: int | None = None
    """Cross-validation instead of one run: cut the training examples into so many parts, hold out each part once, and
    report mean and spread."""
    siamese: bool = False
    """For match, which always does it: encode each text alone (a siamese network). matching sees both texts at once."""
    grid: bool = False
    """Try the paper's settings (3 learning rates, batches of 16 and 32, 2 to 4 epochs) and keep the best on dev."""
    set: Settings = ()
    """Any other field of the recipe, as FIELD=VALUE: pooling=mean layer_mix=sum-last-4 token_decoder=crf freeze=encoder
    problem=regression label_smoothing=0.1 optim.layer_decay=0.9 patience=3 ...; the fields are those of FinetuneRecipe,
    in bertlab/training/finetune_recipe.py."""
    settings: Flat[FinetuneSettings] = FinetuneSettings()

    def run(self) -> None:
        """Train, measure and compare; write the card."""
        from bertlab.cli.shared.checks import check_start
        from bertlab.cli.shared.cross_validation import cross_validate
        from bertlab.cli.shared.examples import Sources, read_sets, warn_of_repeats
        from bertlab.cli.shared.tuning import Options, check_known_labels, run_once
        from bertlab.evaluation.wording import in_figures, print_comparison

        check_options(self)
        recipe = recipe_of(self)
        own_dev = bool(self.folds and self.train and not self.dev)  # then each fold keeps some of its examples
        out = expanded(self.out or Path("runs") / recipe.name)
        dev = self.train if own_dev else self.dev
        sources = Sources(self.train, dev, self.test, self.dataset, self.files)
        check_start(recipe, sources, self.settings, out, bool(self.folds), self.grid)
        sets = read_sets(sources, recipe)
        line, free = command_line(f"finetune {self.task}", self, IN_CARD), not (self.train or self.dataset)
        longer, skip = partial(enough_steps, self), self.files.on_error == "skip"
        options = Options(self.settings, self.grid, self.control, line, free, longer, skip)
        if self.folds:
            rows = cross_validate(options, recipe, sets, out, self.folds, own_dev)
        else:
            check_known_labels(recipe, sets, options.skip)
            warn_of_repeats(sets)
            rows = in_figures(run_once(options, recipe, sets, out))
        if rows:
            print_comparison(rows)
            report_saved(out)


def check_options(command: Finetune) -> None:
    """Raise an InputError for options that contradict each other."""
    from bertlab.training.engine.devices import has_company

    check_above_zero(command.settings, ("save_every", "devices"))
    several = [f"--{name}" for name in ("grid", "folds", "control") if getattr(command, name)]
    if several and has_company(command.settings.devices):
        raise InputError(f"{several[0]}: trains several models, each on one device: leave out --devices")
    if command.folds is not None and command.folds < 2:
        raise InputError(f"--folds {command.folds}: must be at least 2")
    if command.folds and command.test:
        raise InputError("--folds measures on each part of the training examples: leave out --test")
    if command.folds:
        require("sklearn", "baselines")


def recipe_of(command: Finetune) -> "FinetuneRecipe":
    """Return the recipe that the options ask for; what they leave open suits the model and the task."""
    from bertlab.tasks.registry import find_task
    from bertlab.training.engine.optim import suited_optimization
    from bertlab.training.finetune_recipe import FinetuneRecipe

    if command.siamese and command.task != "match":
        raise InputError(
            f"--siamese: {command.task} sees both texts at once; the task that encodes each alone is match"
        )
    check_above_zero(command, ("steps", "lora"))
    if command.steps and command.epochs:
        raise InputError("--steps: is instead of --epochs; give one of them")
    if command.grid and (given := tried_by_grid(command)):
        raise InputError(f"--grid tries values of its own: leave out {given[0]}")
    task, own = find_task(command.task), bool(command.train or command.dataset)
    model = command.model or ("storyworld-tiny" if task.storyworld and not own else "english")
    config = BertConfig.from_pretrained(model)
    length = min(task.family.usual_length, config.max_position_embeddings)
    recipe = FinetuneRecipe(command.task, model, max_length=length)
    if not own:
        recipe = replace(recipe, epochs=1.0, evaluate_every=WORLD_EVALUATIONS)  # stories do not run out
    rank = recipe_from(recipe, command, OWN_OPTIONS).lora
    if rank and command.control:
        raise InputError("--control: an adapter of random weights has no base on disk: leave out --lora or --control")
    return recipe_from(replace(recipe, optim=suited_optimization(config, rank)), command, OWN_OPTIONS)


def tried_by_grid(command: Finetune) -> list[str]:
    """Return the options given that --grid would overrule."""
    names = ("epochs", "steps", "batch_size", "learning_rate")
    options = [f"--{name.replace('_', '-')}" for name in names if getattr(command, name) is not None]
    return options + [f"--set {s}" for s in all_settings(command) if s.partition("=")[0].rpartition(".")[2] in names]


def enough_steps(command: Finetune, recipe: "FinetuneRecipe", sets: "Sets") -> "FinetuneRecipe":
    """Return the recipe, with more epochs if examples are few and no number was given (Mosbach et al. 2021)."""
    from bertlab.training.finetune import count_rows

    given = {setting.partition("=")[0] for setting in all_settings(command)} & {"epochs", "steps"}
    if given or command.epochs or command.steps or command.grid or recipe.count_steps(len(sets.train)) >= LEAST_STEPS:
        return recipe
    if (planned := recipe.count_steps(count_rows(recipe, sets.train))) >= LEAST_STEPS:
        return recipe
    sets.notes.append(f"{recipe.epochs:g} epochs would have been {planned} steps; it was trained for {LEAST_STEPS}.")
    return replace(recipe, steps=LEAST_STEPS, evaluate_every=recipe.evaluate_every or LEAST_STEPS // 10)
