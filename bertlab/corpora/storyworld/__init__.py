"""A seeded small town that writes documents, questions and probes with exact labels."""

from .documents import Labelled, documents, labelled_sentences, questions
from .probes import Probe, probes

__all__ = ["Labelled", "Probe", "documents", "labelled_sentences", "probes", "questions"]
