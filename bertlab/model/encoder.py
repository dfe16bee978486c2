"""BERT's encoder, in the order of the papers.

Devlin et al. 2019, section 3 (embeddings, pooler) on Vaswani et al. 2017, section 3 (attention,
feed-forward, residual connections with LayerNorm *after* each sublayer).

Shapes: B sequences, S tokens, H hidden size, A heads, D = H / A head size, L layers.

The plain encoder is for reading and for tests. `bertlab.BertModel` has the same parameters and the same results, and
computes them faster: see bertlab/model/fast. The heads are in heads.py, the initial weights in base.py, what later
papers changed in variants.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

import torch
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.model.base import PretrainedModel, check_inputs

Mask = Tensor | None
Tensors = tuple[Tensor, ...]


class Embeddings(nn.Module):
    """Word + position + segment embedding, then LayerNorm (Devlin et al., figure 2)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        positions = torch.arange(input_ids.size(1), device=input_ids.device)  # (S,)
        # (B, S, H) + (B, S, H) + (S, H) -> (B, S, H)
        total = self.word(input_ids) + self.segment(token_type_ids) + self.position(positions)
        return self.dropout(self.norm(total))


class MultiHeadAttention(nn.Module):
    """Each token attends to every token, itself included: softmax(Q K^T / sqrt(D)) V in A heads (Vaswani et al.,
    section 3.2). One matrix holds the query, key and value projections of all heads: one product instead of three.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, x: Tensor, padding: Mask = None, head_mask: Mask = None) -> tuple[Tensor, Tensor]:
        """Return the new x (B, S, H) and the attention probabilities (B, A, S, S), whose rows sum to 1.

        padding is True where a token must not attend: (B, 1, 1, S); if causal (B, 1, S, S) or (S, S). head_mask (A,) or
        (B, A) scales the output of each head.
        """
        B, S, _ = x.shape
        # (B, S, H) -qkv-> (B, S, 3H) -split-> (B, S, 3, A, D) -permute-> 3 x (B, A, S, D)
        query, key, value = self.qkv(x).view(B, S, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        # (B, A, S, D) @ (B, A, D, S) -> (B, A, S, S): row i, how well every key fits the query of token i
        scores = query @ key.mT / math.sqrt(query.size(-1))
        if padding is not None:  # not -inf: a row that is all padding would become nan
            scores = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
        probabilities = scores.softmax(dim=-1)
        # (B, A, S, S) @ (B, A, S, D) -> (B, A, S, D): each token's mixture of the values
        context = self.dropout(probabilities) @ value
        if head_mask is not None:
            context = context * head_mask[..., None, None]  # (A, 1, 1) or (B, A, 1, 1)
        # (B, A, S, D) -transpose-> (B, S, A, D) -merge-> (B, S, H) -out-> (B, S, H)
        return self.out(context.transpose(1, 2).flatten(2)), probabilities


# "gelu_new" is the tanh approximation that Google's code used.
GELUTanh = partial(nn.GELU, approximate="tanh")
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"gelu": nn.GELU, "gelu_new": GELUTanh, "relu": nn.ReLU}


class FeedForward(nn.Module):
    """The same two-layer network at every position (Vaswani et al., section 3.3)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = ACTIVATIONS[config.hidden_act]()
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        # (B, S, H) -up-> (B, S, 4H) -down-> (B, S, H)
        return self.down(self.activation(self.up(x)))


class Layer(nn.Module):
    """Attention, then feed-forward; each is added to its input and the sum normalised (post-LN)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.attention = MultiHeadAttention(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x: Tensor, padding: Mask = None, head_mask: Mask = None) -> tuple[Tensor, Tensor]:
        attended, probabilities = self.attention(x, padding, head_mask)
        x = self.attention_norm(x + self.dropout(attended))
        x = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return x, probabilities


class Encoder(nn.Module):
    """L layers, one after the other."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))

    def forward(self, x: Tensor, padding: Mask = None, head_mask: Mask = None) -> tuple[Tensors, Tensors]:
        """Return two tuples: L+1 hidden states (B, S, H), x first, and L attention probabilities (B, A, S, S)."""
        states, attentions = [x], []
        for number, layer in enumerate(self.layers):
            x, probabilities = layer(x, padding, None if head_mask is None else head_mask[number])
            states.append(x)
            attentions.append(probabilities)
        return tuple(states), tuple(attentions)


class Pooler(nn.Module):
    """The vector of the whole input: a layer with tanh on the state of [CLS], the first token."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden: Tensor) -> Tensor:
        # (B, S, H) -first token-> (B, H) -dense-> (B, H)
        return torch.tanh(self.dense(hidden[:, 0]))


@dataclass
class BertOutput:
    """What a BertModel computes. The fast one fills in the last two only on request."""

    last_hidden_state: Tensor  # (B, S, H)
    pooler_output: Tensor | None = None  # (B, H)
    hidden_states: Tensors | None = None  # L+1 x (B, S, H), [0] = embeddings
    attentions: Tensors | None = None  # L x (B, A, S, S), rows sum to 1


class BertModel(PretrainedModel):
    """The encoder without a head.

    Arguments of a call: input_ids (B, S), attention_mask (B, S) (1 = token, 0 = padding; default all 1),
    token_type_ids (B, S) (0 = first text, 1 = second; default all 0) and head_mask (L, A), which scales
    the output of every head (0 = knocked out). Returns a BertOutput. With config.is_decoder no token attends to what
    stands to its right.

    Raises InputError for input longer than config.max_position_embeddings, for wrong shapes and, on CPU,
    for ids outside the vocabulary (elsewhere the check would make the CPU wait for the device).
    """

    def __init__(self, config: BertConfig, add_pooler: bool = True):
        super().__init__(config)
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config) if add_pooler else None
        self.initialise()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Mask = None,
        token_type_ids: Tensor | None = None,
        *,
        head_mask: Mask = None,
    ) -> BertOutput:
        check_inputs(self.config, input_ids, attention_mask, token_type_ids, head_mask)
        x = self.embeddings(input_ids, token_type_ids)
        states, attentions = self.encoder(x, self.padding(input_ids, attention_mask), head_mask)
        pooled = None if self.pooler is None else self.pooler(states[-1])
        return BertOutput(states[-1], pooled, states, attentions)

    def padding(self, input_ids: Tensor, attention_mask: Mask) -> Mask:
        """Return where a token must not attend, as MultiHeadAttention takes it; None if it may attend to all."""
        # (B, S) -> (B, 1, 1, S): the same for every head and every asking token
        padding = None if attention_mask is None else (attention_mask == 0)[:, None, None, :]
        return causal_mask(padding, input_ids) if self.config.is_decoder else padding

    def train(self, mode: bool = True) -> Self:
        """As in nn.Module, but embeddings and layers that are frozen stay in eval mode: their features are fixed."""
        super().train(mode)
        for part in (self.embeddings, *self.encoder.layers):
            part.train(mode and any(parameter.requires_grad for parameter in part.parameters()))
        return self


def causal_mask(padding: Mask, input_ids: Tensor) -> Tensor:
    """Also hide from each token what stands to its right: padding (B, 1, 1, S) or None -> (B, 1, S, S) or (S, S)."""
    size = input_ids.size(1)
    right = torch.ones(size, size, dtype=torch.bool, device=input_ids.device).triu(1)
    return right if padding is None else padding | right
