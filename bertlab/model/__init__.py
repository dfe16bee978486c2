"""The model: encoder, heads, checkpoints."""

import torch

from bertlab.model.classifiers import (
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForSequenceClassification,
    BertForTokenClassification,
    ClassifierOutput,
)
from bertlab.model.encoder import BertModel, BertOutput
from bertlab.model.heads import (
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    MaskedLMOutput,
    PreTrainingOutput,
    QuestionAnsweringOutput,
)
from bertlab.model.sentences import BertForSentenceEmbedding, SentenceOutput

__all__ = [
    "BertForMaskedLM",
    "BertForMultipleChoice",
    "BertForNextSentencePrediction",
    "BertForPreTraining",
    "BertForQuestionAnswering",
    "BertForSentenceEmbedding",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertModel",
    "BertOutput",
    "ClassifierOutput",
    "MaskedLMOutput",
    "PreTrainingOutput",
    "QuestionAnsweringOutput",
    "SentenceOutput",
]

for _output in (
    BertOutput,
    ClassifierOutput,
    MaskedLMOutput,
    PreTrainingOutput,
    QuestionAnsweringOutput,
    SentenceOutput,
):
    torch.export.register_dataclass(_output)  # so that torch.export takes a model that returns one
