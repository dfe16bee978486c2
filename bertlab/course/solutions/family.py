"""My BERT, chapter 14: its family, built from the same parts. GPT, ELMo, and the Transformer that BERT is a half of."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course.solutions.config import IGNORED
from bertlab.course.solutions.encoder import (
    Embeddings,
    Encoder,
    FeedForward,
    MultiHeadAttention,
    initialise,
    merge_heads,
    split_heads,
)

# %% GPT (chapter 14): Radford et al. 2018, section 3.1


def causal_mask(attention_mask):
    """attention_mask (B, S) -> bool (B, 1, S, S): True where the token of the row must not attend to the token of the
    column, which is padding or stands to its right."""
    size = attention_mask.size(1)
    right = torch.ones(size, size, dtype=torch.bool, device=attention_mask.device).triu(1)  # (S, S)
    return (attention_mask == 0)[:, None, None, :] | right


class Gpt(nn.Module):
    """Word and position, the encoder under a causal mask; the output layer is the table of word vectors."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.encoder = Encoder(config)
        initialise(self, config.initializer_range)

    def forward(self, input_ids, attention_mask):
        """Two tensors (B, S) -> logits of the next token at each position (B, S, V)."""
        positions = torch.arange(input_ids.size(1), device=input_ids.device)  # (S,)
        x = self.dropout(self.word(input_ids) + self.position(positions))  # (B, S, H)
        return self.encoder(x, causal_mask(attention_mask)) @ self.word.weight.T  # (B, S, H) @ (H, V)

    def loss(self, batch):
        """input_ids and attention_mask (B, S) -> the mean loss of the tokens that have a token before them."""
        logits = self(batch["input_ids"], batch["attention_mask"])
        following = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, IGNORED)[:, 1:]  # (B, S - 1)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), following.flatten(), ignore_index=IGNORED)


# %% ELMo (chapter 14): Peters et al. 2018, section 3


def backwards(x, attention_mask):
    """x (B, S, ...), mask (B, S) -> each row from its last token to its first; padding stays behind."""
    lengths, positions = attention_mask.sum(1, keepdim=True), torch.arange(x.size(1), device=x.device)  # (B, 1), (S,)
    order = torch.where(positions < lengths, lengths - 1 - positions, positions)  # (B, S)
    return x[torch.arange(len(x), device=x.device)[:, None], order]


class Elmo(nn.Module):
    """Two LSTM language models, one from each side, with the same word vectors and output layer. H is both together."""

    def __init__(self, config):
        super().__init__()
        self.config, width = config, config.hidden_size // 2
        self.word = nn.Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)
        self.lefts = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(config.num_hidden_layers))
        self.rights = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(config.num_hidden_layers))
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.decoder = nn.Linear(width, config.vocab_size)
        initialise(self, config.initializer_range)

    def one_way(self, input_ids, layers):
        """Ids (B, S) and the LSTMs of a direction -> L+1 states (B, S, H/2), the word vectors first."""
        states = [self.word(input_ids)]
        for number, layer in enumerate(layers):
            new, _ = layer(self.dropout(states[-1]))
            states.append(states[-1] + new if number else new)  # a residual connection from the second layer on
        return torch.stack(states)

    def forward(self, input_ids, attention_mask):
        """Two tensors (B, S) -> states (L+1, B, S, H): from the left beside from the right."""
        left = self.one_way(input_ids, self.lefts)
        right = self.one_way(backwards(input_ids, attention_mask), self.rights)
        right = torch.stack([backwards(layer, attention_mask) for layer in right])
        return torch.cat([left, right], -1)

    def loss(self, batch):
        """input_ids and attention_mask (B, S) -> the mean of the two losses: the next token, the token before."""
        left, right = self(batch["input_ids"], batch["attention_mask"])[-1].chunk(2, -1)  # (B, S, H/2) each
        real = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, IGNORED)  # (B, S)
        before = real[:, :-1].masked_fill(real[:, 1:] == IGNORED, IGNORED)  # padding has no token before it
        pairs = (left[:, :-1], real[:, 1:]), (right[:, 1:], before)
        losses = [F.cross_entropy(self.decoder(x).flatten(0, 1), y.flatten(), ignore_index=IGNORED) for x, y in pairs]
        return sum(losses) / 2


# %% encoder and decoder (chapter 14): Vaswani et al. 2017, section 3


class CrossAttention(nn.Module):
    """Queries from the text that is written, keys and values from the text that is read."""

    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key_value = nn.Linear(config.hidden_size, 2 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, x, memory, padding):
        """x (B, T, H), memory (B, S, H), padding (B, 1, 1, S) or None -> output (B, T, H), weights (B, A, T, S)."""
        query = split_heads(self.query(x), self.heads)  # (B, A, T, D)
        key, value = (split_heads(part, self.heads) for part in self.key_value(memory).chunk(2, dim=-1))
        scores = query @ key.mT / math.sqrt(query.size(-1))  # (B, A, T, S)
        if padding is not None:
            scores = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1)
        return self.out(merge_heads(self.dropout(weights) @ value)), weights


class DecoderLayer(nn.Module):
    """Self-attention to what is written, attention to what is read, feed-forward; each added and normalised."""

    def __init__(self, config):
        super().__init__()
        self.attention = MultiHeadAttention(config)
        self.cross_attention = CrossAttention(config)
        self.feed_forward = FeedForward(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.cross_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.feed_forward_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x, future, memory, padding):
        """x (B, T, H), future (B, 1, T, T), memory and padding as in CrossAttention -> x (B, T, H), weights."""
        attended, _ = self.attention(x, future)
        x = self.attention_norm(x + self.dropout(attended))
        read, weights = self.cross_attention(x, memory, padding)
        x = self.cross_norm(x + self.dropout(read))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x))), weights


class Transformer(nn.Module):
    """Encoder and decoder: a text in, a text out. One table of word vectors for source, target and output."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_hidden_layers))
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.decoder.weight = self.embeddings.word.weight
        initialise(self, config.initializer_range)

    def encode(self, input_ids, attention_mask):
        """The source (B, S) -> its states (B, S, H). This half is BERT."""
        padding = (attention_mask == 0)[:, None, None, :]  # (B, 1, 1, S)
        return self.encoder(self.embeddings(input_ids, torch.zeros_like(input_ids)), padding)

    def decode(self, target_ids, memory, attention_mask):
        """Target (B, T), states and mask of the source -> logits of the next token (B, T, V), weights of the last layer
        (B, A, T, S)."""
        x, padding = self.embeddings(target_ids, torch.zeros_like(target_ids)), (attention_mask == 0)[:, None, None, :]
        future = causal_mask(torch.ones_like(target_ids))  # padding of the target stands behind: nothing sees it
        for layer in self.layers:
            x, weights = layer(x, future, memory, padding)
        return self.decoder(x), weights

    def loss(self, batch):
        """input_ids, attention_mask (B, S), target_ids (B, T), labels (B, T), the token after each -> the mean loss."""
        memory = self.encode(batch["input_ids"], batch["attention_mask"])
        logits, _ = self.decode(batch["target_ids"], memory, batch["attention_mask"])
        return F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=IGNORED)


def beam_search(log_p, start, end, beams=4, most=30, penalty=0.6):
    """log_p(ids (K, T)) -> ln p of the next token (K, V). Return the ids (a list of ints) of the best text found,
    without start and end: the highest ln p, divided by ((5 + n) / 6) ** penalty for n tokens with the end (Wu et al.
    2016)."""
    unfinished, done = [([], 0.0)], []
    while unfinished and len(unfinished[0][0]) < most:
        totals = log_p(torch.tensor([[start, *ids] for ids, _ in unfinished]))  # (K, V)
        totals = totals + torch.tensor([total for _, total in unfinished])[:, None]
        values, places = totals.flatten().topk(beams)
        rows, tokens = places // totals.size(1), places % totals.size(1)
        found = zip(rows.tolist(), tokens.tolist(), values.tolist(), strict=True)
        longer = [([*unfinished[row][0], token], value) for row, token, value in found]
        done += [text for text in longer if text[0][-1] == end]
        unfinished = [text for text in longer if text[0][-1] != end][: max(0, beams - len(done))]
    ids, _ = max(done or unfinished, key=lambda text: text[1] / ((5 + len(text[0])) / 6) ** penalty)
    return [token for token in ids if token != end]
