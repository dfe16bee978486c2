"""BERT's second pretraining task (Devlin et al. 2019, section 3.1, task 2): does the second text follow the first?"""

from dataclasses import dataclass

import torch

from bertlab.errors import InputError
from bertlab.explain.text import clean, encode, longest
from bertlab.model import BertForPreTraining
from bertlab.model.base import OTHER_MODEL, refuse_first_token
from bertlab.tokenizer import Tokenizer


@dataclass(frozen=True)
class NextSentence:
    """`probability` that `second` follows `first`; `log_odds` is ln p / (1 - p), in nats."""

    first: str
    second: str
    probability: float
    log_odds: float


def next_sentence(
    model: BertForPreTraining, tokenizer: Tokenizer, text: str, pair: str, limit: int | None = None
) -> NextSentence:
    """Return the verdict on a pair, cut to `limit` tokens or the model's length.

    Raises InputError when either text is empty, and for a model without a head for this.
    """
    if not hasattr(model, "nsp"):
        raise InputError("this model has no next-sentence head: choose one that was pretrained with pairs")
    refuse_first_token(model.config, "this model", OTHER_MODEL)
    if not clean(pair):
        raise InputError("the second text is empty: write what may follow the first")
    batch = encode(tokenizer, text, pair, longest(model, limit)).batch
    with torch.inference_mode():
        pooled = model.bert(**batch).pooler_output  # (1, H)
        is_next, not_next = model.nsp(pooled)[0].double().tolist()  # (1, H) -> (1, 2) -> two numbers
    log_odds = is_next - not_next
    return NextSentence(clean(text), clean(pair), float(torch.tensor(log_odds).sigmoid()), log_odds)


def both_orders(
    model: BertForPreTraining, tokenizer: Tokenizer, text: str, pair: str, limit: int | None = None
) -> tuple[NextSentence, NextSentence]:
    """Return the verdicts on the pair as given and with its texts swapped; they need not sum to 1."""
    return next_sentence(model, tokenizer, text, pair, limit), next_sentence(model, tokenizer, pair, text, limit)
