"""BERT's encoder, in the order of the papers.

Devlin et al. 2019, section 3 (embeddings, pooler) on Vaswani et al. 2017, section 3 (attention,
feed-forward, residual connections with LayerNorm *after* each sublayer).

Shapes: B sequences, S tokens, H hidden size, A heads, D = H / A head size, L layers, V vocabulary.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.errors import InputError
from bertlab.model.checkpoint import PretrainedModel
from bertlab.model.packing import Packing


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
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

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
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(
        self,
        x: Tensor,
        padding: Tensor | None,
        head_mask: Tensor | None = None,
        want_probabilities: bool = False,
        packing: Packing | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """x (B, S, H), padding (B, 1, 1 or S, S) True where hidden, head_mask (A,) -> (B, S, H), (B, A, S, S).

        With `packing`, x and the result are (N, H), the tokens that are not padding.
        """
        qkv = self.qkv(x) if packing is None else packing.unpack(self.qkv(x))
        B, S, _ = qkv.shape
        # (B, S, H) -qkv-> (B, S, 3H) -split-> (B, S, 3, A, D) -permute-> 3 x (B, A, S, D)
        query, key, value = qkv.view(B, S, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        bias = padding_bias(padding, query.dtype)
        probabilities = None
        if want_probabilities or head_mask is not None or self._plain_is_faster(x):
            context, probabilities = self._explicit(query, key, value, bias)
        else:
            p = self.dropout.p if self.training else 0.0
            context = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=p)
        if head_mask is not None:
            context = context * head_mask.view(1, -1, 1, 1)
        # (B, A, S, D) -transpose-> (B, S, A, D) -merge-> (B, S, H) -out-> (B, S, H)
        context = context.transpose(1, 2).flatten(2)
        return self.out(context if packing is None else packing.pack(context)), probabilities

    def _explicit(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        # (B, A, S, D) @ (B, A, D, S) -> (B, A, S, S)
        scores = (query * query.size(-1) ** -0.5) @ key.transpose(-1, -2)
        if bias is not None:
            scores = scores + bias
        probabilities = scores.softmax(dim=-1)
        # (B, A, S, S) @ (B, A, S, D) -> (B, A, S, D)
        return self.dropout(probabilities) @ value, probabilities

    def _plain_is_faster(self, x: Tensor) -> bool:
        """On CPU the fused kernel is slower to train than the plain products, with dropout or in bfloat16."""
        slow = self.dropout.p > 0 or torch.is_autocast_enabled("cpu")
        return self.training and slow and x.device.type == "cpu"


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
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

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
    """L layers, one after the other."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))

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
            x, probabilities = layer(x, padding, scale, want_probabilities, packing)
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


class BertModel(PretrainedModel):
    """The encoder without a head.

    Called with input_ids (B, S), attention_mask (B, S) (1 = token, 0 = padding; default all 1),
    token_type_ids (B, S) (0 = first text, 1 = second; default all 0) and head_mask (L, A), which scales
    the output of every head (0 = knocked out). Gives a BertOutput. With config.is_decoder no token sees what
    stands to its right. With `packed` no work is done on padding, whose states are then 0 (on CPU; a GPU would
    have to stop and count the tokens, so there it changes nothing).

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
        packed: bool = False,
    ) -> BertOutput:
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        check_inputs(self.config, input_ids, attention_mask, token_type_ids, head_mask)
        # (B, S) -> (B, 1, 1, S): the same for every head and every asking token
        padding = None if attention_mask is None else (attention_mask == 0)[:, None, None, :]
        if self.config.is_decoder:
            padding = hide_the_right(padding, input_ids)
        x = self.embeddings(input_ids, token_type_ids)
        if packed and attention_mask is not None and x.device.type == "cpu":
            packing = Packing(attention_mask)
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


def check_inputs(
    config: BertConfig,
    input_ids: Tensor,
    attention_mask: Tensor | None,
    token_type_ids: Tensor,
    head_mask: Tensor | None,
) -> None:
    """Say in one line what does not fit, before an index error deep in an embedding does."""
    if input_ids.dim() != 2 or input_ids.size(1) == 0:
        raise InputError(f"input_ids must be (batch, tokens) with at least one token, not {tuple(input_ids.shape)}")
    if input_ids.is_floating_point():
        raise InputError(f"input_ids must be whole numbers, not {input_ids.dtype}")
    tokens, most = input_ids.size(1), config.max_position_embeddings
    if tokens > most:
        raise InputError(
            f"the input has {tokens} tokens, this model takes {most} at most: "
            "shorten the text or tokenize with max_length"
        )
    for name, tensor in {"attention_mask": attention_mask, "token_type_ids": token_type_ids}.items():
        if tensor is not None and tensor.shape != input_ids.shape:
            raise InputError(f"{name} is {tuple(tensor.shape)}, input_ids {tuple(input_ids.shape)}")
    wanted = (config.num_hidden_layers, config.num_attention_heads)
    if head_mask is not None and head_mask.shape != wanted:
        raise InputError(f"head_mask must be (layers, heads) = {wanted}, not {tuple(head_mask.shape)}")
    check_range("input_ids", input_ids, config.vocab_size, "vocab_size; are they another tokenizer's?")
    only = "; leave token_type_ids out" if config.type_vocab_size == 1 else ""
    check_range("token_type_ids", token_type_ids, config.type_vocab_size, f"type_vocab_size{only}")


def check_range(name: str, ids: Tensor, limit: int, reason: str) -> None:
    """On the CPU, ids must lie in 0..limit-1."""
    if ids.device.type != "cpu" or ids.numel() == 0:
        return
    low, high = (int(bound) for bound in ids.aminmax())
    if low < 0 or high >= limit:
        wrong = low if low < 0 else high
        raise InputError(f"{name} holds {wrong}, outside 0..{limit - 1} ({reason})")
