"""Labelled examples of the small town for each task family; dev and test hold combinations that train never shows."""

from bertlab.corpora.storyworld.tasks.adversarial import adversarial
from bertlab.corpora.storyworld.tasks.choices import choices
from bertlab.corpora.storyworld.tasks.entailment import entailment
from bertlab.corpora.storyworld.tasks.entities import entities
from bertlab.corpora.storyworld.tasks.matching import matching, retelling
from bertlab.corpora.storyworld.tasks.sentiment import sentiment

__all__ = ["adversarial", "choices", "entailment", "entities", "matching", "retelling", "sentiment"]
