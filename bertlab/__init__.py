"""bertlab: BERT to build, train, look into and use."""

import os

# Threads of PyTorch that wait for each other spin for some microseconds and then sleep. To sleep at once costs small
# models a sixth of their speed; to spin on keeps the very threads they wait for off the cores, beside another busy
# program. To be set before PyTorch starts; what you have set yourself stays.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "2000")  # of GNU's OpenMP, which knows the middle way

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.model import (
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSentenceEmbedding,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)
from bertlab.model.cpu import limit_threads
from bertlab.tokenizer import Tokenizer

limit_threads()

__all__ = [
    "BertConfig",
    "BertForMaskedLM",
    "BertForMultipleChoice",
    "BertForNextSentencePrediction",
    "BertForPreTraining",
    "BertForQuestionAnswering",
    "BertForSentenceEmbedding",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertModel",
    "InputError",
    "Tokenizer",
]
