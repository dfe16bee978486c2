"""`bertlab finetune --folds`: the same run on each part of the training examples held out in turn."""

import shutil
from dataclasses import replace
from pathlib import Path

from bertlab.cli.shared.examples import Sets, split_off, warn_of_repeats
from bertlab.cli.shared.messages import say
from bertlab.cli.shared.tuning import COMPARISON, OURS, Measures, Options, check_known_labels, is_trained, run_once
from bertlab.evaluation.folds import split_folds, write_spread
from bertlab.evaluation.wording import second_label
from bertlab.io.json_files import read_json
from bertlab.training.engine.checkpoints import Checkpoints
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.grid import grid, label
from bertlab.training.run_folder import MEASURES, STATES, check_data, check_parts, check_recipe, locked


def cross_validate(
    options: Options, recipe: FinetuneRecipe, sets: Sets, out: Path, count: int, own_dev: bool
) -> dict[str, dict[str, str]]:
    """Run each fold in `out`/folds/NUMBER-of-COUNT, unless that is done; write folds.json and report.md.

    Each fold chooses its checkpoint by `sets.dev`, or with `own_dev` by a tenth of what it learns from. Returns mean
    and standard deviation in words, by name and measure.
    """
    check_parts(out, "folds", "cross-validation", options.settings.resume)
    folds: list[Sets] = []
    for number, (known, held_out) in enumerate(split_folds(sets.train, count, recipe.seed), start=1):
        notes = [f"Fold {number} of {count}."]
        train, dev = split_off(known, recipe.seed, notes) if own_dev else (known, sets.dev)
        folds.append(Sets(train, dev, held_out, notes, sets.sources))
        check_known_labels(recipe, folds[-1], options.skip)  # of all folds, before the first training
    warn_of_repeats(folds[0])
    found: list[dict[str, Measures]] = []
    with locked(out):
        for number, fold in enumerate(folds, start=1):
            folder = out / "folds" / f"{number}-of-{count}"
            if not (folder / MEASURES).exists():
                say(f"fold {number} of {count}")
                run_once(prepared(options, folder), recipe, fold, folder)
            else:
                check_fold(folder, options.lengthened(recipe, fold), options.grid)
                check_data(folder, fold.train, fold.dev)
            found.append(read_json(folder / COMPARISON))
        return write_spread(out, recipe.name, found, OURS, second_label(folder))


def check_fold(folder: Path, recipe: FinetuneRecipe, searched: bool) -> None:
    """Raise an InputError if a finished fold, or with `searched` a setting tried for it, had another recipe."""
    trials = {folder / "grid" / label(trial): trial for trial in grid(recipe)} if searched else {folder: recipe}
    for place, trial in trials.items():
        check_recipe(place, trial)


def prepared(options: Options, folder: Path) -> Options:
    """Return the options for a fold: to go on where it was stopped, else to begin it in an empty folder."""
    begun = bool(Checkpoints(folder / STATES)) or is_trained(folder) or (folder / "grid").exists()
    if not begun:  # what a kill may have left before the first state
        shutil.rmtree(folder, ignore_errors=True)
    return replace(options, settings=replace(options.settings, resume=begun))
