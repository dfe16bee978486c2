"""BERT's encoder, in the order of the papers: what every model of bertlab runs.

Devlin et al. 2019, section 3 (embeddings, pooler) on Vaswani et al. 2017, section 3 (attention, feed-forward, residual
connections with LayerNorm *after* each sublayer). What later papers changed are parts that the config selects:

- position_embedding_type="rotary": queries and keys are turned by their position, and no position vector is added
  (Su et al. 2021, "RoFormer");
- gated_feed_forward: GatedFeedForward (Shazeer 2020, "GeGLU" with GELU);
- pre_norm: PreNormLayer, and a LayerNorm at the end (Xiong et al. 2020);
- shared_layers: all layers have the same weights (Lan et al. 2020, "ALBERT").

The first three together make the encoder of ModernBERT (Warner et al. 2024), except for its local attention, its
missing biases, and its first LayerNorm, which it leaves out.

Shapes: B sequences, S tokens, H hidden size, A heads, D = H / A head size, I intermediate size, L layers. All but
attention treats tokens one by one, so (..., H) is a batch with its padding, (B, S, H), or packed without it, (N, H);
`rows` says which, and attend.py reads it. The heads are in heads.py, initial weights and checkpoints in base.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from bertlab.config import BertConfig
from bertlab.model.attend import Packing, Rows, attend, turn_queries_and_keys
from bertlab.model.base import PretrainedModel, check_inputs, is_recorded
from bertlab.model.cpu import Dropout, keep_memory

Mask = Tensor | None
Tensors = tuple[Tensor, ...]
Attended = tuple[Tensor, Tensor | None]  # new states (..., H); weights (B, A, S, S), if they are needed
WHOLE = Rows()  # every token of a row attends to every other


class Embeddings(nn.Module):
    """Word + position + segment embedding, then LayerNorm (Devlin et al., figure 2)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        kind = NoPositions if config.position_embedding_type == "rotary" else nn.Embedding
        self.position = kind(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        positions = torch.arange(input_ids.size(1), device=input_ids.device)  # (S,)
        # (B, S, H) + (B, S, H) + (S, H) -> (B, S, H)
        total = self.word(input_ids) + self.segment(token_type_ids) + self.position(positions)
        return self.dropout(self.norm(total))


class NoPositions(nn.Module):
    """In place of the position embedding, where attention turns queries and keys instead: nothing is added."""

    def __init__(self, *shape: int):
        super().__init__()
        self.shape = shape

    @property
    def weight(self) -> Tensor:
        return torch.zeros(self.shape)

    def forward(self, positions: Tensor) -> Tensor:
        return positions.new_zeros(1)  # (1,), added to (B, S, H)


class MultiHeadAttention(nn.Module):
    """Each token attends to every token of its text, itself included: softmax(Q K^T / sqrt(D)) V in A heads (Vaswani
    et al., section 3.2). One matrix holds the query, key and value projections of all heads: one product, not three.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.rotary = config.position_embedding_type == "rotary"
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = Dropout(config.attention_probs_dropout_prob)

    def forward(self, x: Tensor, rows: Rows = WHOLE, head_mask: Mask = None, need_weights: bool = False) -> Attended:
        """Return the new x (..., H) and, if they are needed, the weights (B, A, S, S), each row of which sums to 1.

        head_mask (A,) or (B, A) scales the output of each head.
        """
        # (..., H) -qkv-> (..., 3H) -split-> (..., 3, A, D): query, key and value of each token in each head
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, -1))
        if self.rotary:
            qkv = turn_queries_and_keys(qkv, rows.positions(x))
        context, weights = attend(qkv, rows, self.dropout, need_weights)  # (..., A, D): each token's mix of values
        if head_mask is not None:
            context = context * head_mask.to(context.dtype)[..., None, :, None]  # (1, A, 1) or (B, 1, A, 1)
        # (..., A, D) -merge-> (..., H) -out-> (..., H)
        return self.out(context.flatten(-2)), weights


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
        # (..., H) -up-> (..., I) -down-> (..., H)
        return self.down(self.activation(self.up(x)))


class GatedFeedForward(FeedForward):
    """Two layers from H to I, of which one opens and closes the other, and one layer back."""

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.up = nn.Linear(config.hidden_size, 2 * config.intermediate_size)

    def forward(self, x: Tensor) -> Tensor:
        # (..., H) -up-> (..., 2I) -halves-> 2 x (..., I) -down-> (..., H)
        opened, values = self.up(x).chunk(2, dim=-1)
        return self.down(self.activation(opened) * values)


class Layer(nn.Module):
    """Attention, then feed-forward; each is added to its input and the sum normalised (post-LN)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.attention = MultiHeadAttention(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.feed_forward = GatedFeedForward(config) if config.gated_feed_forward else FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, x: Tensor, rows: Rows = WHOLE, head_mask: Mask = None, need_weights: bool = False) -> Attended:
        attended, weights = self.attention(x, rows, head_mask, need_weights)
        x = self.attention_norm(x + self.dropout(attended))
        x = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return x, weights


class PreNormLayer(Layer):
    """Attention, then feed-forward; each reads a normalised copy of what it is added to (pre-LN)."""

    def forward(self, x: Tensor, rows: Rows = WHOLE, head_mask: Mask = None, need_weights: bool = False) -> Attended:
        attended, weights = self.attention(self.attention_norm(x), rows, head_mask, need_weights)
        x = x + self.dropout(attended)
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x))), weights


class Encoder(nn.Module):
    """L layers, one after the other.

    With gradient_checkpointing set, training keeps only what enters each layer and computes its inside again for the
    gradient (Chen et al. 2016): a third more work, a fraction of the memory.
    """

    gradient_checkpointing = False

    def __init__(self, config: BertConfig):
        super().__init__()
        kind, count = PreNormLayer if config.pre_norm else Layer, config.num_hidden_layers
        layers = [kind(config)] * count if config.shared_layers else [kind(config) for _ in range(count)]
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps) if config.pre_norm else None

    def forward(
        self, x: Tensor, rows: Rows = WHOLE, head_mask: Mask = None, need_weights: bool = False
    ) -> tuple[Tensors, tuple[Tensor | None, ...]]:
        """Return L+1 hidden states (..., H), x first, and the attention weights of L layers; head_mask is (L, A)."""
        states, attentions = [x], []
        scales = [None] * len(self.layers) if head_mask is None else head_mask
        for layer, scale in zip(self.layers, scales, strict=True):
            if self.gradient_checkpointing and self.training and torch.is_grad_enabled():
                x, weights = checkpoint(layer, x, rows, scale, need_weights, use_reentrant=False)
            else:
                x, weights = layer(x, rows, scale, need_weights)
            states.append(x)
            attentions.append(weights)
        if self.norm is not None:
            states[-1] = self.norm(x)
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
    """What a BertModel computes, the last two only on request."""

    last_hidden_state: Tensor  # (B, S, H)
    pooler_output: Tensor | None = None  # (B, H)
    hidden_states: Tensors | None = None  # L+1 x (B, S, H), [0] = embeddings
    attentions: Tensors | None = None  # L x (B, A, S, S), rows sum to 1


class BertModel(PretrainedModel):
    """The encoder without a head.

    Called with input_ids (B, S), attention_mask (B, S) (1 = token, 0 = padding; default all 1),
    token_type_ids (B, S) (0 = first text, 1 = second; default all 0) and head_mask (L, A), which scales
    the output of every head (0 = knocked out). Returns a BertOutput, with hidden_states and attentions where
    output_hidden_states and output_attentions ask for them. With config.is_decoder no token attends to what stands to
    its right. With `packed` no work is done on padding, whose states are then 0, unless a row begins with padding. A
    GPU would have to stop and count the tokens: there, give the Packing of the attention_mask, made on the CPU; True
    changes nothing.

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
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        output_attentions: bool = False,
        output_hidden_states: bool = False,
        head_mask: Tensor | None = None,
        packed: bool | Packing = False,
    ) -> BertOutput:
        check_inputs(self.config, input_ids, attention_mask, token_type_ids, head_mask)
        if self.training and torch.is_grad_enabled() and input_ids.device.type == "cpu" and not is_recorded():
            keep_memory()
        rows = Rows.of(input_ids, attention_mask, self.config.is_decoder, packed)
        x = rows.pack(self.embeddings(input_ids, token_type_ids))  # (B, S, H) or (N, H)
        states, attentions = self.encoder(x, rows, head_mask, output_attentions)
        states = tuple(rows.unpack(state) for state in (states if output_hidden_states else states[-1:]))  # (B, S, H)
        return BertOutput(
            last_hidden_state=states[-1],
            pooler_output=None if self.pooler is None else self.pooler(states[-1]),
            hidden_states=states if output_hidden_states else None,
            attentions=attentions if output_attentions else None,
        )

    def train(self, mode: bool = True) -> Self:
        """As in nn.Module, but embeddings and layers that are frozen stay in eval mode: their features are fixed."""
        super().train(mode)
        for part in (self.embeddings, *self.encoder.layers):
            part.train(mode and any(parameter.requires_grad for parameter in part.parameters()))
        return self
