"""bertlab: BERT to build, train, look into and use."""

import os

# Threads of PyTorch that wait for each other shall sleep, not spin. Beside another busy program, spinning ones keep
# the very threads they wait for off the cores. To be set before PyTorch starts; what you have set yourself stays.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.model import (
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)
from bertlab.tokenizer import Tokenizer

__all__ = [
    "BertConfig",
    "BertForMaskedLM",
    "BertForMultipleChoice",
    "BertForNextSentencePrediction",
    "BertForPreTraining",
    "BertForQuestionAnswering",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertModel",
    "InputError",
    "Tokenizer",
]
