"""My BERT, chapter 03: a row of ids becomes vectors."""

import torch
from torch import nn

# %% embeddings (chapter 03): Devlin et al., figure 2


class Embeddings(nn.Module):
    """Word + position + segment, then LayerNorm and dropout."""

    def __init__(self, config):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids, token_type_ids):
        positions = torch.arange(input_ids.size(1), device=input_ids.device)  # (S,)
        total = self.word(input_ids) + self.segment(token_type_ids) + self.position(positions)  # (B, S, H)
        return self.dropout(self.norm(total))
