"""My BERT, chapters 03 to 05: a row of ids becomes vectors, attention, and the encoder with its first weights."""

import math

import torch
import torch.nn.functional as F
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


# %% attention (chapter 04): Vaswani et al. 2017, section 3.2


def split_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)  # (B, S, H) -> (B, S, A, D) -> (B, A, S, D)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)  # (B, A, S, D) -> (B, S, A, D) -> (B, S, H)


class MultiHeadAttention(nn.Module):
    """Self-attention: softmax(Q K^T / sqrt(D)) V in A heads."""

    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, x, padding):
        """x (B, S, H), padding (B, 1, 1, S) or None -> output (B, S, H), weights (B, A, S, S)."""
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        scores = query @ key.mT / math.sqrt(query.size(-1))  # (B, A, S, S)
        if padding is not None:
            scores = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1)
        return self.out(merge_heads(self.dropout(weights) @ value)), weights


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
