"""A seeded small town that writes documents, questions, probes and examples of every task, with exact labels."""

from bertlab.corpora.storyworld.documents import Labelled, documents, labelled_sentences, questions
from bertlab.corpora.storyworld.probes import Probe, probes
from bertlab.corpora.storyworld.tasks import (
    adversarial,
    choices,
    entailment,
    entities,
    matching,
    retelling,
    sentiment,
)

__all__ = [
    "Labelled",
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
