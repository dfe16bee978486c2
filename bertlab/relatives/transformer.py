"""The Transformer that BERT took its encoder from: encoder and decoder, for text in, text out (Vaswani et al. 2017).

The encoder is bertlab.model's, so what the decoder adds is all that is new here: causal self-attention, attention to
the source, and a word at a time. Positions are learned, as in BERT.

Shapes: B pairs of texts, S source tokens, T target tokens, H hidden size, A heads, D = H / A, V vocabulary, K beams.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.model.attend import Rows, causal_mask
from bertlab.model.base import PretrainedModel
from bertlab.model.cpu import Dropout
from bertlab.model.encoder import Embeddings, Encoder, FeedForward, Mask, MultiHeadAttention

LENGTH_PENALTY = 0.6  # Vaswani et al., section 6.1, after Wu et al. 2016
MORE_TOKENS = 50  # than the source has, at most (section 6.1)


class CrossAttention(nn.Module):
    """Each token of the target attends to every token of the source (section 3.2.3): queries from the one, keys and
    values from the other."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key_value = nn.Linear(config.hidden_size, 2 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = Dropout(config.attention_probs_dropout_prob)

    def forward(self, x: Tensor, memory: Tensor, padding: Mask = None) -> tuple[Tensor, Tensor]:
        """x (B, T, H), memory (B, S, H), padding (B, 1, 1, S) -> new x (B, T, H), probabilities (B, A, T, S)."""
        query = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, T, H) -> (B, A, T, D)
        # (B, S, 2H) -> (B, S, 2, A, D) -> 2 x (B, A, S, D)
        key, value = self.key_value(memory).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = query @ key.mT / math.sqrt(query.size(-1))  # (B, A, T, S)
        if padding is not None:
            scores = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
        probabilities = scores.softmax(-1)
        context = self.dropout(probabilities) @ value  # (B, A, T, D)
        return self.out(context.transpose(1, 2).flatten(2)), probabilities  # (B, T, H)


class DecoderLayer(nn.Module):
    """Self-attention to what is written, attention to the source, feed-forward; each added and normalised (post-LN)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.attention = MultiHeadAttention(config)
        self.cross_attention = CrossAttention(config)
        self.feed_forward = FeedForward(config)
        norm = config.hidden_size, config.layer_norm_eps
        self.attention_norm, self.cross_norm, self.feed_forward_norm = (nn.LayerNorm(*norm) for _ in range(3))
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, x: Tensor, right: Tensor, memory: Tensor, padding: Mask) -> tuple[Tensor, Tensor]:
        """Return the new x (B, T, H) and the attention to the source (B, A, T, S). right: (T, T), see causal_mask."""
        x = self.attention_norm(x + self.dropout(self.attention(x, Rows(right))[0]))
        read, probabilities = self.cross_attention(x, memory, padding)
        x = self.cross_norm(x + self.dropout(read))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x))), probabilities


@dataclass
class TransformerOutput:
    """What a Transformer computes."""

    logits: Tensor  # (B, T, V): the token after each of target_ids
    loss: Tensor | None = None
    cross_attentions: tuple[Tensor, ...] = ()  # L x (B, A, T, S), rows sum to 1


class Transformer(PretrainedModel):
    """Source text in, target text out. One table of word embeddings serves source, target and output (section 3.4).

    A call takes input_ids and attention_mask (B, S) of the source, and target_ids (B, T), which begin with a start
    token: each position predicts the next token (teacher forcing). labels (B, T): these next tokens, -100 is ignored.
    """

    def __init__(self, config: BertConfig, label_smoothing: float = 0.1):
        super().__init__(config)
        self.label_smoothing = label_smoothing
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_hidden_layers))
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.decoder.weight = self.embeddings.word.weight
        self.initialise()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, target_ids: Tensor, labels: Tensor | None = None
    ) -> TransformerOutput:
        memory = self.encode(input_ids, attention_mask)
        logits, attentions = self.decode(target_ids, memory, attention_mask)
        if labels is None:
            return TransformerOutput(logits, None, attentions)
        smoothing = self.label_smoothing if self.training else 0.0
        how = {"ignore_index": IGNORED, "label_smoothing": smoothing}
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), **how)  # type: ignore[arg-type]
        return TransformerOutput(logits, loss, attentions)

    def encode(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the states of the source (B, S, H): this half is BERT."""
        padding = (attention_mask == 0)[:, None, None, :]  # (B, 1, 1, S)
        return self.encoder(self.embeddings(input_ids), Rows(padding))[0][-1]

    def decode(self, target_ids: Tensor, memory: Tensor, attention_mask: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the logits (B, T, V) after each token of the target, and the attention to the source."""
        x, right = self.embeddings(target_ids), causal_mask(None, target_ids)
        padding, attentions = (attention_mask == 0)[:, None, None, :], []
        for layer in self.layers:
            x, probabilities = layer(x, right, memory, padding)
            attentions.append(probabilities)
        return self.decoder(x), tuple(attentions)


@dataclass(frozen=True)
class Beam:
    """A text as far as it is written, and ln p of it given the source."""

    ids: tuple[int, ...]
    log_probability: float

    @property
    def score(self) -> float:
        """ln p over a power of the length, so that short texts do not win by their length alone (Wu et al. 2016)."""
        return self.log_probability / ((5 + len(self.ids)) / 6) ** LENGTH_PENALTY


@torch.inference_mode()
def write(model: Transformer, source: list[int], start: int, end: int, beams: int = 1) -> list[int]:
    """Return the target for one source, without its start and end token: the best of `beams` found side by side.

    One beam is greedy search: the likeliest next token, again and again.
    """
    input_ids = torch.tensor([source])
    mask = torch.ones_like(input_ids)
    memory = model.eval().encode(input_ids, mask)  # (1, S, H)
    most = min(len(source) + MORE_TOKENS, model.config.max_position_embeddings - 1)
    unfinished, done = [Beam((), 0.0)], list[Beam]()
    for _ in range(most):
        target = torch.tensor([[start, *beam.ids] for beam in unfinished])  # (K, T)
        logits, _ = model.decode(target, memory.expand(len(unfinished), -1, -1), mask.expand(len(unfinished), -1))
        unfinished = _extended(unfinished, logits[:, -1].float().log_softmax(-1), beams)
        done += [beam for beam in unfinished if beam.ids[-1] == end]
        unfinished = [beam for beam in unfinished if beam.ids[-1] != end][: max(0, beams - len(done))]
        if not unfinished:
            break
    best = max(done or unfinished, key=lambda beam: beam.score)
    return [token for token in best.ids if token != end]


def _extended(unfinished: list[Beam], log_probabilities: Tensor, beams: int) -> list[Beam]:
    """Return the `beams` likeliest continuations, by one token, of the open texts; log_probabilities (K, V)."""
    totals = log_probabilities + torch.tensor([beam.log_probability for beam in unfinished])[:, None]  # (K, V)
    values, positions = totals.flatten().topk(min(beams, totals.numel()))
    rows, tokens = positions // totals.size(1), positions % totals.size(1)
    found = zip(values.tolist(), rows.tolist(), tokens.tolist(), strict=True)
    return [Beam((*unfinished[row].ids, token), value) for value, row, token in found]
