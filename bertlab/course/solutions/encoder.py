"""My BERT, chapter 05: the encoder, from one layer to the whole, and the weights it starts from."""

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course.solutions.attention import MultiHeadAttention
from bertlab.course.solutions.embeddings import Embeddings

# %% encoder (chapter 05): Vaswani et al., sections 3.1 and 3.3; pooler: Devlin et al., section 3


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))  # (B, S, H) -up-> (B, S, 4H) -down-> (B, S, H)


class Layer(nn.Module):
    """Attention, then feed-forward; each is added to its input and the sum normalised (post-LN)."""

    def __init__(self, config):
        super().__init__()
        self.attention = MultiHeadAttention(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x, padding):
        attended, _ = self.attention(x, padding)
        x = self.attention_norm(x + self.dropout(attended))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))

    def forward(self, x, padding):
        for layer in self.layers:
            x = layer(x, padding)
        return x


class Pooler(nn.Module):
    """The vector of the whole input, from the state of [CLS]."""

    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden):
        return torch.tanh(self.dense(hidden[:, 0]))  # (B, S, H) -first token-> (B, H) -dense-> (B, H)


class Bert(nn.Module):
    """The encoder without a head."""

    def __init__(self, config):
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> last hidden state (B, S, H), pooler output (B, H)."""
        padding = (attention_mask == 0)[:, None, None, :]  # (B, S) -> (B, 1, 1, S)
        hidden = self.encoder(self.embeddings(input_ids, token_type_ids), padding)
        return hidden, self.pooler(hidden)


def initialise(model, std=0.02):
    """Draw the weights that training starts from: normal with `std`, biases 0, [PAD] 0. LayerNorm: as torch does."""
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=std)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
    for module in model.modules():  # last, as a tied decoder draws the same table once more
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            nn.init.zeros_(module.weight.data[module.padding_idx])
