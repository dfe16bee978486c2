"""My BERT: everything that I built in the course, in the order of the paper. It needs torch and numpy only.

Shapes: B sequences, S tokens, H hidden size, A heads, D = H / A head size, L layers, V vocabulary, M masked tokens.
"""

import json
import math
import random
import unicodedata
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

PAD, UNK, CLS, SEP, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
IGNORED = -100  # label of a token that the loss leaves out


@dataclass
class Config:
    """The numbers that make one BERT, named as in a published config.json."""

    vocab_size: int = 30522
    hidden_size: int = 128
    num_hidden_layers: int = 2
    num_attention_heads: int = 2
    intermediate_size: int = 512
    max_position_embeddings: int = 128
    type_vocab_size: int = 2
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    layer_norm_eps: float = 1e-12
    initializer_range: float = 0.02
    pad_token_id: int = 0
