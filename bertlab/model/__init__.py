"""The model: encoder, heads, checkpoints."""

from bertlab.model.classifiers import (
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForSequenceClassification,
    BertForTokenClassification,
    ClassifierOutput,
)
from bertlab.model.encoder import BertOutput
from bertlab.model.fast import BertModel
from bertlab.model.heads import (
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    MaskedLMOutput,
    PreTrainingOutput,
    QuestionAnsweringOutput,
)

__all__ = [
    "BertForMaskedLM",
    "BertForMultipleChoice",
    "BertForNextSentencePrediction",
    "BertForPreTraining",
    "BertForQuestionAnswering",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertModel",
    "BertOutput",
    "ClassifierOutput",
    "MaskedLMOutput",
    "PreTrainingOutput",
    "QuestionAnsweringOutput",
]
