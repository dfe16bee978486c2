"""The small search that the paper makes for every task (Devlin et al. 2019, appendix A.3)."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.io.atomic import atomic_write
from bertlab.io.gate import read_json
from bertlab.model.weights import WEIGHTS
from bertlab.training.dev_set import best_of
from bertlab.training.engine.checkpoints import Checkpoints
from bertlab.training.finetune import finetune
from bertlab.training.recipes import WIDE, FinetuneRecipe, as_record
from bertlab.training.run_folder import MEASURES, check_recipe, locked

PAPER_RATES, NARROW_RATES = (5e-5, 3e-5, 2e-5), (4e-3, 2e-3, 1e-3)
BATCH_SIZES, EPOCHS = (16, 32), (2.0, 3.0, 4.0)


def grid(recipe: FinetuneRecipe) -> list[FinetuneRecipe]:
    """The paper's 18 settings: learning rate 5e-5, 3e-5 or 2e-5; batches of 16 or 32; 2, 3 or 4 epochs.

    Encoders narrower than 512 need more to learn at all: their rates are 4e-3, 2e-3 and 1e-3.
    """
    narrow = BertConfig.from_pretrained(recipe.model).hidden_size < WIDE
    return [
        replace(recipe, batch_size=size, epochs=epochs, steps=0, optim=replace(recipe.optim, learning_rate=rate))
        for rate, size, epochs in product(NARROW_RATES if narrow else PAPER_RATES, BATCH_SIZES, EPOCHS)
    ]


def search(
    recipe: FinetuneRecipe,
    examples: Sequence,
    dev: Sequence,
    out: Path,
    *,
    resume: bool = False,
    on_trial: Callable[[str, dict[str, float]], None] | None = None,
    **options,
) -> FinetuneRecipe | None:
    """Fine-tune with each setting, in `out`/grid/SETTING; returns the one that is best on `dev`, whose run then also
    fills `out` itself. None: Ctrl-C ended it; `resume` goes on. The others keep their figures, but no weights.

    `on_trial` is told each setting and its figures; `options` are finetune's.
    """
    if not dev:
        raise InputError("a grid chooses by a dev set: give one with --dev")
    if resume and not (out / "grid").exists():
        raise InputError(f"{out} holds no unfinished grid to resume")
    with locked(out):
        if not resume and any((out / name).exists() for name in ("grid", WEIGHTS)):
            raise InputError(f"{out} holds a run already: go on with --resume, or choose another --out")
        trials = {out / "grid" / label(trial): trial for trial in grid(recipe)}
        scores: dict[Path, float] = {}
        for folder, trial in trials.items():
            if (folder / MEASURES).exists():  # it was run to its end
                check_recipe(folder, as_record(trial))
            elif not run_trial(folder, trial, examples, dev, **options):
                return None
            measures = read_json(folder / MEASURES)
            scores[folder] = measures["best"]
            keep_best_weights(scores)
            if on_trial:
                on_trial(label(trial), measures)
        chosen = max(scores, key=scores.get)
        shutil.copytree(chosen, out, dirs_exist_ok=True)
        return trials[chosen]


def label(trial: FinetuneRecipe) -> str:
    return f"rate-{trial.optim.learning_rate:g}-batch-{trial.batch_size}-epochs-{trial.epochs:g}"


def run_trial(folder: Path, trial: FinetuneRecipe, examples: Sequence, dev: Sequence, **options) -> bool:
    """Whether the setting was run to its end; its figures on `dev` are then in its folder."""
    begun = bool(Checkpoints(folder / "resume"))
    if not begun:  # what a kill may have left between the last step and the figures
        shutil.rmtree(folder, ignore_errors=True)
    result = finetune(trial, examples, dev, out=folder, resume=begun, **options)
    if not result.stopped:
        row = best_of(result.looks, result.task)
        atomic_write(folder / MEASURES, json.dumps({"best": row[result.task.best], **row}, indent=2) + "\n")
    return not result.stopped


def keep_best_weights(scores: dict[Path, float]) -> None:
    chosen = max(scores, key=scores.get)
    for folder in scores:
        if folder != chosen:
            (folder / WEIGHTS).unlink(missing_ok=True)
            for snapshot in folder.glob("step-*"):
                shutil.rmtree(snapshot)
