"""A seeded small town that writes documents, questions, probes and examples of every task, with exact labels."""

from bertlab.corpora.storyworld.documents import documents, labelled_sentences, questions
from bertlab.corpora.storyworld.probes import Probe, probes
from bertlab.corpora.storyworld.tasks.adversarial import adversarial
from bertlab.corpora.storyworld.tasks.choices import choices
from bertlab.corpora.storyworld.tasks.entailment import entailment
from bertlab.corpora.storyworld.tasks.entities import entities
from bertlab.corpora.storyworld.tasks.matching import matching, retelling
from bertlab.corpora.storyworld.tasks.sentiment import sentiment

__all__ = [
    "Probe",
    "adversarial",
    "choices",
    "documents",
    "entailment",
    "entities",
    "labelled_sentences",
    "matching",
    "probes",
    "questions",
    "retelling",
    "sentiment",
]
