"""The encoder of bertlab.model.encoder, computed faster: three ways of attention, no work on padding, less memory.

A fast class has the parameters of the plain one and other code, so `speed_up` changes the class of a module in place.
"""

from dataclasses import dataclass
from typing import Literal, TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from bertlab.config import BertConfig
from bertlab.model.base import check_inputs, is_recorded
from bertlab.model.encoder import BertOutput, Encoder, MultiHeadAttention
from bertlab.model.fast.cpu import Dropout, keep_memory
from bertlab.model.fast.packing import Packing, choose_packing
from bertlab.model.variants import BertModel as PlainBertModel
from bertlab.model.variants import PreNormEncoder, RotaryProjection

Way = Literal["explicit", "fused", "rows"]


class EncoderOptions(TypedDict, total=False):
    """What a call of any model may ask of its encoder; see BertModel."""

    output_attentions: bool
    output_hidden_states: bool
    head_mask: Tensor | None
    packed: bool | Packing


@dataclass(eq=False)
class Request:
    """What one call of the model asks of every layer; handed to them in place of `padding`."""

    padding: Tensor | None = None  # (B, 1, 1 or S, S), True where a token must not attend
    packing: Packing | None = None  # then x is (N, H), the tokens that are not padding
    probabilities: bool = False  # whether attention returns them

    @property
    def causal(self) -> bool:
        """Whether `padding` differs from one asking token to another."""
        return self.padding is not None and self.padding.size(-2) > 1


class FastAttention(MultiHeadAttention):
    """The same attention, in the fastest of three ways that gives what is asked for."""

    def forward(  # type: ignore[override]  # probabilities that nobody asks for are None
        self, x: Tensor, padding: Tensor | Request | None = None, head_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """As in MultiHeadAttention; with request.packing, x and the result are (N, H)."""
        request = padding if isinstance(padding, Request) else Request(padding)
        way, packing, qkv = self.way(x, request, head_mask), request.packing, self.project(x, request.packing)
        if packing is not None:
            if way == "rows":
                return self.within_rows(qkv, packing), None
            qkv = packing.unpack(qkv)
        B, S, _ = qkv.shape
        # (B, S, 3H) -split-> (B, S, 3, A, D) -permute-> 3 x (B, A, S, D)
        heads = qkv.view(B, S, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        bias, probabilities = padding_bias(request.padding, qkv.dtype), None
        query, key, value = heads.contiguous() if way == "explicit" else heads
        if way == "explicit":
            context, probabilities = self.explicit(query, key, value, bias)
        else:
            context = F.scaled_dot_product_attention(query, key, value, bias, dropout_p=self.dropped())
        if head_mask is not None:
            context = context * head_mask[..., None, None]  # (A, 1, 1) or (B, A, 1, 1)
        # (B, A, S, D) -transpose-> (B, S, A, D) -merge-> (B, S, H) -out-> (B, S, H)
        context = context.transpose(1, 2).flatten(2)
        return self.out(context if packing is None else packing.pack(context)), probabilities

    def way(self, x: Tensor, request: Request, head_mask: Tensor | None) -> Way:
        """Return the fastest way.

        "explicit" alone gives probabilities, and on a CPU it trains faster than the fused kernel with dropout or in
        bfloat16. "rows", of unequal length, have a kernel on a GPU, which may not know causal attention; on a CPU it is
        quicker to put the padding back. "fused" is best for the rest.
        """
        if request.probabilities or head_mask is not None:
            return "explicit"
        if request.packing is not None and x.device.type == "cuda" and not request.causal:
            return "rows"
        fused_is_slow = self.dropout.p > 0 or torch.is_autocast_enabled("cpu")
        return "explicit" if self.training and fused_is_slow and x.device.type == "cpu" else "fused"

    def project(self, x: Tensor, packing: Packing | None) -> Tensor:
        """Return queries, keys and values of x (B, S, H) or, packed, (N, H); rotary ones need positions."""
        if packing is None or not isinstance(self.qkv, RotaryProjection):
            return self.qkv(x)
        return self.qkv(x, packing.packed % packing.shape[1])

    def within_rows(self, qkv: Tensor, packing: Packing) -> Tensor:
        # (N, 3H) -split-> 3 x (N, A, D)
        query, key, value = qkv.view(len(qkv), 3, self.heads, -1).unbind(1)
        context = packing.attend(query, key, value, self.dropped())
        return self.out(context.flatten(1))  # (N, A, D) -merge-> (N, H) -out-> (N, H)

    def explicit(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        """The products of the plain form; scaling and hiding take no pass of their own over the scores."""
        B, A, S, D = query.shape
        added = query.new_zeros(1, 1, 1) if bias is None else bias.expand(B, A, -1, S).flatten(0, 1)
        # bias + (B*A, S, D) @ (B*A, D, S) / sqrt(D) -> (B*A, S, S)
        scores = torch.baddbmm(added, query.flatten(0, 1), key.flatten(0, 1).transpose(1, 2), alpha=D**-0.5)
        probabilities = scores.softmax(dim=-1).view(B, A, S, S)
        # (B, A, S, S) @ (B, A, S, D) -> (B, A, S, D)
        return self.dropout(probabilities) @ value, probabilities

    def dropped(self) -> float:
        return self.dropout.p if self.training else 0.0


def padding_bias(padding: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Return what is added to the scores: 0 at tokens, the lowest finite number of their dtype at padding.

    In the dtype of the scores, since the lowest float32 number is -inf in bfloat16.
    """
    return None if padding is None else padding.to(dtype) * torch.finfo(dtype).min


class FastEncoder(Encoder):
    """The same layers; with gradient_checkpointing they take less memory to train, compiled they run faster on a GPU.

    With gradient_checkpointing set, training keeps only what enters each layer and computes its inside again for the
    gradient (Chen et al. 2016): a third more work, a fraction of the memory.
    """

    gradient_checkpointing = False

    def forward(  # type: ignore[override]  # probabilities that nobody asks for are None
        self, x: Tensor, padding: Tensor | Request | None = None, head_mask: Tensor | None = None
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
        if not (self.gradient_checkpointing and self.training and torch.is_grad_enabled()):
            return super().forward(x, padding, head_mask)  # type: ignore[arg-type]  # a Request is only handed on
        states, attentions = [x], []
        for number, layer in enumerate(self.layers):
            scale = None if head_mask is None else head_mask[number]
            x, probabilities = checkpoint(layer, x, padding, scale, use_reentrant=False)
            states.append(x)
            attentions.append(probabilities)
        return tuple(states), tuple(attentions)

    def compile_layers(self) -> None:
        """Have torch.compile fuse what each layer does; the first steps then take a minute or two."""
        for layer in self.layers:
            layer.compile(dynamic=True)  # batches are as long as their longest row


class FastPreNormEncoder(PreNormEncoder, FastEncoder):  # type: ignore[misc]  # which hands the request on to the next
    """The same for layers that are normalised before."""


FAST: dict[type[nn.Module], type[nn.Module]] = {
    MultiHeadAttention: FastAttention,
    Encoder: FastEncoder,
    PreNormEncoder: FastPreNormEncoder,
    nn.Dropout: Dropout,
}


def speed_up(model: nn.Module) -> None:
    """Change the modules of `model` to their fast forms, in place."""
    for module in model.modules():
        module.__class__ = FAST.get(type(module), type(module))


class BertModel(PlainBertModel):
    """The encoder without a head.

    Called with input_ids (B, S), attention_mask (B, S) (1 = token, 0 = padding; default all 1),
    token_type_ids (B, S) (0 = first text, 1 = second; default all 0) and head_mask (L, A), which scales
    the output of every head (0 = knocked out). Gives a BertOutput, with hidden_states and attentions where
    output_hidden_states and output_attentions ask for them. With config.is_decoder no token sees what stands to
    its right. With `packed` no work is done on padding, whose states are then 0, unless a row begins with padding. A
    GPU would have to stop and count the tokens: there, give the Packing of the attention_mask, made on the CPU; True
    changes nothing.

    Raises InputError for input longer than config.max_position_embeddings, for wrong shapes and, on CPU,
    for ids outside the vocabulary (elsewhere the check would make the CPU wait for the device).
    """

    encoder: FastEncoder

    def __init__(self, config: BertConfig, add_pooler: bool = True):
        super().__init__(config, add_pooler)
        speed_up(self)

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
        x = self.embeddings(input_ids, token_type_ids)
        packing = choose_packing(packed, attention_mask)
        request = Request(self.padding(input_ids, attention_mask), packing, output_attentions)
        states, attentions = self.encoder(x if packing is None else packing.pack(x), request, head_mask)
        if packing is not None:
            states = tuple(packing.unpack(state) for state in (states if output_hidden_states else states[-1:]))
        return BertOutput(
            last_hidden_state=states[-1],
            pooler_output=None if self.pooler is None else self.pooler(states[-1]),
            hidden_states=states if output_hidden_states else None,
            attentions=attentions if output_attentions else None,
        )
