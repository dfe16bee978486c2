"""What the chapters need and nothing else does: exercise checkers, panels to play with, live plots, baselines."""

from bertlab.course.chapters import EXERCISES
from bertlab.course.exercise import own_or_solution
from bertlab.course.matching import Matching, load_matching
from bertlab.course.mistake import Mistake
from bertlab.evaluation.baselines import masked_baselines

globals().update(EXERCISES)

__all__ = [*EXERCISES, "Matching", "Mistake", "load_matching", "masked_baselines", "own_or_solution"]
