"""What the recipe of a model's training says of its weights."""

from pathlib import Path

from bertlab.errors import InputError
from bertlab.io.gate import read_json


def recipe_of(folder: Path) -> dict:
    """Return the recipe of a run, by its folder or that of a snapshot; {} without one that can be read."""
    recipe = (folder.parent if folder.name.startswith("step-") else folder) / "recipe.json"
    try:
        return read_json(recipe) if recipe.exists() else {}
    except InputError:
        return {}


def head_start(folder: Path) -> bool:
    """Return whether the recipe gave this model more than random initial weights (see docs/plateau.md)."""
    recipe = recipe_of(folder)
    return recipe.get("position_init") == "sinusoid" or recipe.get("attention_init") == "matched"
