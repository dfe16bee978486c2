"""bertlab: BERT to build, train, look into and use."""

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.model import BertForMaskedLM, BertForPreTraining, BertForQuestionAnswering, BertModel
from bertlab.tokenizer import Tokenizer

__all__ = [
    "BertConfig",
    "BertForMaskedLM",
    "BertForPreTraining",
    "BertForQuestionAnswering",
    "BertModel",
    "InputError",
    "Tokenizer",
]
