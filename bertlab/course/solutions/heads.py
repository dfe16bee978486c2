"""My BERT, chapters 06 and 07: the two heads of pretraining."""

import torch.nn.functional as F
from torch import nn

from bertlab.course.solutions.encoder import Bert, initialise

# %% heads (chapters 06 and 07): Devlin et al., section 3.1


class MaskedLMHead(nn.Module):
    """States to logits of the vocabulary; the decoder's matrix is the table of word vectors."""

    def __init__(self, config, word):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.decoder.weight = word.weight

    def forward(self, states):
        return self.decoder(self.norm(F.gelu(self.dense(states))))  # (B, S, H) -> (B, S, H) -> (B, S, V)


class BertForPreTraining(nn.Module):
    """The encoder with both heads of pretraining."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.mlm = MaskedLMHead(config, self.bert.embeddings.word)
        self.nsp = nn.Linear(config.hidden_size, 2)
        initialise(self, config.initializer_range)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> logits of words (B, S, V), logits of the pair (B, 2)."""
        hidden, pooled = self.bert(input_ids, attention_mask, token_type_ids)
        return self.mlm(hidden), self.nsp(pooled)
