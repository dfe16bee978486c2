"""Search for the best settings, as the paper recommends (Devlin et al. 2019, appendix A.3)."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.io.adapter_config import keep_bases
from bertlab.io.atomic import atomic_write
from bertlab.io.json_files import read_json
from bertlab.model.weights import weights_file
from bertlab.training.dev_set import best_of
from bertlab.training.engine.checkpoints import Checkpoints
from bertlab.training.engine.optim import suited_rates
from bertlab.training.engine.throughput import Row
from bertlab.training.finetune import finetune
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.run_folder import MEASURES, STATES, check_data, check_parts, check_recipe, locked, note_data
from bertlab.training.run_settings import FinetuneSettings

BATCH_SIZES, EPOCHS = (16, 32), (2.0, 3.0, 4.0)


def grid(recipe: FinetuneRecipe) -> list[FinetuneRecipe]:
    """Return the paper's 18 settings: learning rate 5e-5, 3e-5 or 2e-5; batches of 16 or 32; 2, 3 or 4 epochs.

    Encoders narrower than 512 have rates that suit them (bertlab/training/engine/optim.py).
    """
    rates = suited_rates(BertConfig.from_pretrained(recipe.model), recipe.lora)
    return [
        replace(recipe, batch_size=size, epochs=epochs, steps=0, optim=replace(recipe.optim, learning_rate=rate))
        for rate, size, epochs in product(rates, BATCH_SIZES, EPOCHS)
    ]


def search(
    recipe: FinetuneRecipe,
    examples: Sequence,
    dev: Sequence,
    out: Path,
    *,
    settings: FinetuneSettings = FinetuneSettings(),  # noqa: B008 (frozen, so safe to share)
    on_trial: Callable[[str, Row], None] | None = None,
    **options: Any,
) -> FinetuneRecipe | None:
    """Fine-tune with each setting, in `out`/grid/SETTING, and copy the run that is best on `dev` to `out` itself.

    Returns the best setting; None if Ctrl-C ended the search, which `resume` continues. The other runs keep their
    figures, but no weights. `on_trial` gets each setting's label and figures; `options` are finetune's.
    """
    if not dev:
        raise InputError("a grid chooses by a dev set: give one with --dev")
    with locked(out):
        check_parts(out, "grid", "grid", settings.resume)
        trials = {out / "grid" / label(trial): trial for trial in grid(recipe)}
        measured: dict[Path, float] = {}
        for folder, trial in trials.items():
            if (folder / MEASURES).exists():  # it was run to its end
                check_recipe(folder, trial)
                check_data(folder, examples, dev)
            elif not run_trial(folder, trial, examples, dev, settings, **options):
                return None
            measures = read_json(folder / MEASURES)
            measured[folder] = measures["best"]
            keep_best_weights(measured)
            if on_trial:
                on_trial(label(trial), measures)
        chosen = max(measured, key=measured.__getitem__)
        # not its measures: they say that a run has been measured on the test set too
        shutil.copytree(chosen, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns(MEASURES))
        keep_bases(chosen, out)
        return trials[chosen]


def label(trial: FinetuneRecipe) -> str:
    """Return the name of a setting's folder."""
    return f"rate-{trial.optim.learning_rate:g}-batch-{trial.batch_size}-epochs-{trial.epochs:g}"


def run_trial(
    folder: Path, trial: FinetuneRecipe, examples: Sequence, dev: Sequence, settings: FinetuneSettings, **options: Any
) -> bool:
    """Run one setting; return whether it came to its end, so that its figures on `dev` are in its folder."""
    begun = bool(Checkpoints(folder / STATES))
    if not begun:  # what a kill may have left between the last step and the figures
        shutil.rmtree(folder, ignore_errors=True)
    result = finetune(trial, examples, dev, out=folder, settings=replace(settings, resume=begun), **options)
    if not result.stopped:
        note_data(folder, examples, dev)
        row = best_of(result.evaluations, result.task)
        atomic_write(folder / MEASURES, json.dumps({"best": row[result.task.best], **row}, indent=2) + "\n")
    return not result.stopped


def keep_best_weights(measured: dict[Path, float]) -> None:
    """Delete weights and snapshots of all runs but the best."""
    chosen = max(measured, key=measured.__getitem__)
    for folder in measured:
        if folder != chosen:
            if weights := weights_file(folder):
                weights.unlink()
            for snapshot in folder.glob("step-*"):
                shutil.rmtree(snapshot)
