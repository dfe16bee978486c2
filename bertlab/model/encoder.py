"""BERT's encoder, in the order of the papers.

Devlin et al. 2019, section 3 (embeddings, pooler) on Vaswani et al. 2017, section 3 (attention,
feed-forward, residual connections with LayerNorm *after* each sublayer).

Shapes: B sequences, S tokens, H hidden size, A heads, D = H / A head size, L layers, V vocabulary.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from bertlab.config import BertConfig
from bertlab.model.checkpoint import PretrainedModel
from bertlab.model.checks import check_inputs
from bertlab.model.fast import Dropout, Packing, choose_packing, keep_memory


@dataclass
class BertOutput:
    """What BertModel computes; the last two only when asked for."""

    last_hidden_state: Tensor  # (B, S, H)
    pooler_output: Tensor | None = None  # (B, H)
    hidden_states: tuple[Tensor, ...] | None = None  # L+1 x (B, S, H), [0] = embeddings
    attentions: tuple[Tensor, ...] | None = None  # L x (B, A, S, S), rows sum to 1


class Embeddings(nn.Module):
    """Word + position + segment embedding, then LayerNorm (Devlin et al., figure 2)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        positions = torch.arange(input_ids.size(1), device=input_ids.device)  # (S,)
        # (B, S, H) + (B, S, H) + (S, H) -> (B, S, H)
        total = self.word(input_ids) + self.segment(token_type_ids) + self.position(positions)
        return self.dropout(self.norm(total))


class MultiHeadAttention(nn.Module):
    """Every token asks every other (Vaswani et al., section 3.2): softmax(Q K^T / sqrt(D)) V, A times.

    One matrix holds the query, key and value projections of all heads: one product instead of three.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.causal = config.is_decoder
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = Dropout(config.attention_probs_dropout_prob)

    def forward(
        self,
        x: Tensor,
        padding: Tensor | None,
        head_mask: Tensor | None = None,
        want_probabilities: bool = False,
        packing: Packing | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """x (B, S, H), padding (B, 1, 1 or S, S) True where hidden, head_mask (A,) -> (B, S, H), (B, A, S, S).

        A head_mask (B, A) has a row for each sequence. With `packing`, x and the result are (N, H), the tokens that
        are not padding.
        """
        if packing is not None and not want_probabilities and head_mask is None and self._nested_is_faster(x):
            return self._within_rows(x, packing), None
        qkv = self.qkv(x) if packing is None else packing.unpack(self.qkv(x))
        B, S, _ = qkv.shape
        # (B, S, H) -qkv-> (B, S, 3H) -split-> (B, S, 3, A, D) -permute-> 3 x (B, A, S, D)
        heads = qkv.view(B, S, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        bias = padding_bias(padding, qkv.dtype)
        probabilities = None
        if want_probabilities or head_mask is not None or self._plain_is_faster(x):
            context, probabilities = self._explicit(*heads.contiguous().unbind(0), bias)
        else:
            context = F.scaled_dot_product_attention(*heads.unbind(0), bias, dropout_p=self._dropped())
        if head_mask is not None:
            context = context * head_mask[..., None, None]  # (A, 1, 1) or (B, A, 1, 1)
        # (B, A, S, D) -transpose-> (B, S, A, D) -merge-> (B, S, H) -out-> (B, S, H)
        context = context.transpose(1, 2).flatten(2)
        return self.out(context if packing is None else packing.pack(context)), probabilities

    def _within_rows(self, x: Tensor, packing: Packing) -> Tensor:
        # (N, H) -qkv-> (N, 3H) -split-> 3 x (N, A, D)
        query, key, value = self.qkv(x).view(len(x), 3, self.heads, -1).unbind(1)
        context = packing.attend(query, key, value, self._dropped())
        return self.out(context.flatten(1))  # (N, A, D) -merge-> (N, H) -out-> (N, H)

    def _dropped(self) -> float:
        return self.dropout.p if self.training else 0.0

    def _explicit(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        B, A, S, D = query.shape
        added = query.new_zeros(1, 1, 1) if bias is None else bias.expand(B, A, -1, S).flatten(0, 1)
        # bias + (B*A, S, D) @ (B*A, D, S) / sqrt(D) -> (B*A, S, S)
        scores = torch.baddbmm(added, query.flatten(0, 1), key.flatten(0, 1).transpose(1, 2), alpha=D**-0.5)
        probabilities = scores.softmax(dim=-1).view(B, A, S, S)
        # (B, A, S, S) @ (B, A, S, D) -> (B, A, S, D)
        return self.dropout(probabilities) @ value, probabilities

    def _plain_is_faster(self, x: Tensor) -> bool:
        """On CPU the fused kernel is slower to train than the plain products, with dropout or in bfloat16."""
        slow = self.dropout.p > 0 or torch.is_autocast_enabled("cpu")
        return self.training and slow and x.device.type == "cpu"

    def _nested_is_faster(self, x: Tensor) -> bool:
        """A GPU has a kernel for rows of unequal length; on CPU it is quicker to put the padding back. The kernel is
        not sure to know causal attention: that takes the way with a mask."""
        return x.device.type == "cuda" and not self.causal


def padding_bias(padding: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """What is added to the scores: 0 at tokens, the lowest finite number at padding (B, 1, 1, S).

    Not -inf: a row that is all padding would become 0/0 = nan. In the dtype of the scores, since the
    lowest float32 number is -inf in bfloat16.
    """
    if padding is None:
        return None
    return padding.to(dtype) * torch.finfo(dtype).min


def hide_the_right(padding: Tensor | None, input_ids: Tensor) -> Tensor:
    """Padding (B, 1, 1, S) and for each asking token also what stands to its right -> (B, 1, S, S); or (S, S)."""
    size = input_ids.size(1)
    right = torch.ones(size, size, dtype=torch.bool, device=input_ids.device).triu(1)
    return right if padding is None else padding | right


class GELUTanh(nn.GELU):
    """The tanh approximation of GELU ("gelu_new") that Google's code used."""

    def __init__(self):
        super().__init__(approximate="tanh")


ACTIVATIONS = {"gelu": nn.GELU, "gelu_new": GELUTanh, "relu": nn.ReLU}


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
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        x: Tensor,
        padding: Tensor | None,
        head_mask: Tensor | None,
        want_probabilities: bool,
        packing: Packing | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        attended, probabilities = self.attention(x, padding, head_mask, want_probabilities, packing)
        x = self.attention_norm(x + self.dropout(attended))
        x = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return x, probabilities


class Encoder(nn.Module):
    """L layers, one after the other.

    With gradient_checkpointing set, training keeps only what enters each layer and computes its inside again for the
    gradient (Chen et al. 2016): a third more work, a fraction of the memory.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.gradient_checkpointing = False

    def forward(
        self,
        x: Tensor,
        padding: Tensor | None,
        head_mask: Tensor | None,
        want_probabilities: bool,
        packing: Packing | None = None,
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
        """-> hidden states L+1 x (B, S, H), the input first; attention L x (B, A, S, S)."""
        states, attentions = [x], []
        for index, layer in enumerate(self.layers):
            scale = None if head_mask is None else head_mask[index]
            inputs = (x, padding, scale, want_probabilities, packing)
            x, probabilities = checkpoint(layer, *inputs, use_reentrant=False) if self._forgets() else layer(*inputs)
            states.append(x)
            attentions.append(probabilities)
        return tuple(states), tuple(attentions)

    def compile_layers(self) -> None:
        """Have torch.compile fuse what each layer does; the first steps then take a minute or two."""
        for layer in self.layers:
            layer.compile(dynamic=True)  # batches are as long as their longest row

    def _forgets(self) -> bool:
        return self.gradient_checkpointing and self.training and torch.is_grad_enabled()


class Pooler(nn.Module):
    """The vector of the whole input: a layer with tanh on the state of [CLS], the first token."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden: Tensor) -> Tensor:
        # (B, S, H) -first token-> (B, H) -dense-> (B, H)
        return torch.tanh(self.dense(hidden[:, 0]))


class BertModel(PretrainedModel):
    """The encoder without a head.

    Called with input_ids (B, S), attention_mask (B, S) (1 = token, 0 = padding; default all 1),
    token_type_ids (B, S) (0 = first text, 1 = second; default all 0) and head_mask (L, A), which scales
    the output of every head (0 = knocked out). Gives a BertOutput. With config.is_decoder no token sees what
    stands to its right. With `packed` no work is done on padding, whose states are then 0. A GPU would have to stop
    and count the tokens: there, give the Packing of the attention_mask, made on the CPU; True changes nothing.

    Raises InputError for input longer than config.max_position_embeddings, for wrong shapes and, on CPU,
    for ids outside the vocabulary (elsewhere the check would make the CPU wait for the device).
    """

    def __init__(self, config: BertConfig, add_pooler: bool = True):
        super().__init__(config)
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config) if add_pooler else None
        self.initialise()

    def train(self, mode: bool = True) -> "BertModel":
        """As in nn.Module, but embeddings and layers that are frozen stay in eval mode: their features are fixed."""
        super().train(mode)
        for part in (self.embeddings, *self.encoder.layers):
            part.train(mode and any(parameter.requires_grad for parameter in part.parameters()))
        return self

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
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        check_inputs(self.config, input_ids, attention_mask, token_type_ids, head_mask)
        if self.training and torch.is_grad_enabled() and input_ids.device.type == "cpu":
            keep_memory()
        # (B, S) -> (B, 1, 1, S): the same for every head and every asking token
        padding = None if attention_mask is None else (attention_mask == 0)[:, None, None, :]
        if self.config.is_decoder:
            padding = hide_the_right(padding, input_ids)
        x = self.embeddings(input_ids, token_type_ids)
        packing = choose_packing(packed, attention_mask)
        if packing is not None:
            states, attentions = self.encoder(packing.pack(x), padding, head_mask, output_attentions, packing)
            states = tuple(packing.unpack(state) for state in (states if output_hidden_states else states[-1:]))
        else:
            states, attentions = self.encoder(x, padding, head_mask, output_attentions)
        return BertOutput(
            last_hidden_state=states[-1],
            pooler_output=None if self.pooler is None else self.pooler(states[-1]),
            hidden_states=states if output_hidden_states else None,
            attentions=attentions if output_attentions else None,
        )
