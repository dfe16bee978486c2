"""All exercises by the names that chapters call them by, from the folders chapter_NN/exercises."""

from importlib import import_module
from pathlib import Path

from bertlab.course.exercise import Exercise


def _exercises() -> dict[str, Exercise]:
    paths = sorted(Path(__file__).parent.glob("chapter_*/exercises/[!_]*.py"))
    modules = [import_module(f"bertlab.course.{path.parts[-3]}.exercises.{path.stem}") for path in paths]
    return {name: each for module in modules for name, each in vars(module).items() if isinstance(each, Exercise)}


EXERCISES = _exercises()
KEPT = {part: exercise for exercise in EXERCISES.values() for part in exercise.kept}  # of my_bert.py, by its check
