"""What `bertlab finetune` refuses before it reads the first example: a long file is no place to wait for a mistake."""

import warnings
from pathlib import Path

from bertlab.cli.shared.examples import Sources
from bertlab.cli.shared.tuning import is_trained
from bertlab.model import BertModel
from bertlab.tasks.registry import find_task
from bertlab.training.engine.callbacks import require_loggers
from bertlab.training.engine.devices import Devices, check_processes, is_first
from bertlab.training.finetune import check_encoder, check_options, choose_trained
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.run_folder import check_parts, check_unfinished, check_unused, locked
from bertlab.training.run_settings import FinetuneSettings


def check_start(
    recipe: FinetuneRecipe, sources: Sources, settings: FinetuneSettings, out: Path, folds: bool, grid: bool
) -> None:
    """Raise an InputError for what options, machine, run folder, model and the first row of each file can refuse.

    Where several devices train together, their processes then run the whole command, and this one ends with them.
    """
    family = find_task(recipe.task).family
    check_options(recipe)
    require_loggers(settings.tensorboard, settings.wandb)
    devices = Devices(settings.device, settings.devices)
    check_processes(devices, recipe.batch_size, family.whole_batches)
    if is_first():
        check_folder(out, settings.resume, folds, grid)
    with warnings.catch_warnings(action="ignore"):  # that the encoder has no pooler may not matter
        model = BertModel.from_pretrained(recipe.model)
    check_encoder(recipe, model.config)
    choose_trained(model, recipe)
    for path in dict.fromkeys(filter(None, (sources.train, sources.dev, sources.test))):
        family.check_first(path, sources.files.reading(recipe.problem, find_task(recipe.task).pairs))
    devices.launch()


def check_folder(out: Path, resume: bool, folds: bool, grid: bool) -> None:
    """Raise an InputError if the run cannot begin, or be resumed, in its folder; or if another one is writing there."""
    with locked(out):
        if folds:
            check_parts(out, "folds", "cross-validation", resume)
        elif grid:
            check_parts(out, "grid", "grid", resume)
        elif not resume:
            check_unused(out)
        elif not is_trained(out):
            check_unfinished(out)
