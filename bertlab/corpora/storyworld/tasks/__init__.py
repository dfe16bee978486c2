"""Labelled examples of the small town for each task family; dev and test hold combinations that train never shows."""

from .choices import choices
from .entailment import entailment
from .entities import entities
from .matching import matching
from .sentiment import sentiment

__all__ = ["choices", "entailment", "entities", "matching", "sentiment"]
