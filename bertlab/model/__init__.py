"""The model: encoder, heads, checkpoints."""

from bertlab.model.encoder import BertModel, BertOutput
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
    "BertForPreTraining",
    "BertForQuestionAnswering",
    "BertModel",
    "BertOutput",
    "MaskedLMOutput",
    "PreTrainingOutput",
    "QuestionAnsweringOutput",
]
