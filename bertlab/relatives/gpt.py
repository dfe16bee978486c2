"""GPT: BERT's own layers, but each token sees only itself and the tokens to its left (Radford et al. 2018).

It learns to predict the next token. For a task it gets one linear layer on the state of the last token, and goes on
predicting tokens beside it (section 3.2).

Shapes: B rows of tokens, S tokens, H hidden size, V vocabulary.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.model.attend import Rows, causal_mask
from bertlab.model.base import PretrainedModel
from bertlab.model.cpu import Dropout
from bertlab.model.encoder import BertOutput, Encoder

AUXILIARY = 0.5  # lambda: the share of the language model's loss in fine-tuning (section 4.1)


@dataclass
class GptOutput:
    """What a Gpt computes. The loss is the mean over all tokens that have a token before them."""

    last_hidden_state: Tensor  # (B, S, H)
    hidden_states: tuple[Tensor, ...]  # L+1 x (B, S, H)
    loss: Tensor | None = None


class Gpt(PretrainedModel):
    """The language model. Unlike BERT's, its embeddings have no segments and no LayerNorm.

    A call takes input_ids and attention_mask (B, S), 0 for padding, which stands at the right. With `predict` the
    output has the loss of the next tokens.
    """

    def __init__(self, config: BertConfig):
        super().__init__(config)
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.dropout = Dropout(config.hidden_dropout_prob)
        self.encoder = Encoder(config)
        self.initialise()

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, *, predict: bool = False) -> GptOutput:
        positions = torch.arange(input_ids.size(1), device=input_ids.device)  # (S,)
        x = self.dropout(self.word(input_ids) + self.position(positions))  # (B, S, H)
        states, _ = self.encoder(x, Rows(causal_mask(None, input_ids)))  # padding is to the right: nothing sees it
        out = GptOutput(states[-1], states)
        if predict:
            following = input_ids[:, 1:]  # (B, S - 1)
            if attention_mask is not None:
                following = following.masked_fill(attention_mask[:, 1:] == 0, IGNORED)
            out.loss = F.cross_entropy(self.logits(states[-1][:, :-1]).flatten(0, 1), following.flatten())
        return out

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the next token (..., V): the output layer is the table of word embeddings (tied)."""
        return states @ self.word.weight.T  # (..., H) -> (..., V)


class GptEncoder(nn.Module):
    """A GPT where BERT's heads expect a BertModel: a linear layer on the state of the last token (section 3.2).

    The four forms of input (section 3.3, figure 1): a text, `[CLS] text [MASK]`; a pair, `[CLS] text [SEP] pair
    [MASK]`; with `orders`, both orders of a pair, whose states are added; of choices a row each, as the head gives
    them. [MASK], which pretraining never shows, stands for the paper's "extract". In training, `language_loss` has L1
    of the batch.
    """

    def __init__(self, gpt: Gpt, mask_token_id: int, orders: bool = False):
        super().__init__()
        self.gpt, self.mask_token_id, self.orders = gpt, mask_token_id, orders
        self.language_loss: Tensor | None = None

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, **_: object) -> BertOutput:
        """input_ids (B, S) as BERT reads them; gives the states (B, S, H), and as pooler_output the last (B, H)."""
        rows = torch.arange(len(input_ids), device=input_ids.device)  # (B,)
        last = attention_mask.sum(1) - 1  # (B,)
        first = input_ids.index_put((rows, last), input_ids.new_tensor(self.mask_token_id))
        out = self.gpt(first, attention_mask, predict=self.training)
        pooled, self.language_loss = out.last_hidden_state[rows, last], out.loss  # (B, S, H) -> (B, H)
        if self.orders:
            other = self.gpt(other_order(first, attention_mask, token_type_ids), attention_mask)
            pooled = pooled + other.last_hidden_state[rows, last]
        return BertOutput(out.last_hidden_state, pooled, out.hidden_states)


def other_order(input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
    """Exchange the texts of pairs (B, S): `[CLS] a [SEP] b [X]` becomes `[CLS] b [SEP] a [X]`."""
    positions = torch.arange(input_ids.size(1), device=input_ids.device).expand_as(input_ids)  # (B, S)
    last = attention_mask.sum(1, keepdim=True) - 1  # (B, 1)
    between = ((token_type_ids == 0) & (attention_mask == 1)).sum(1, keepdim=True) - 1  # (B, 1): the [SEP] after a
    order = torch.where(positions < between, 3, 1)  # b comes first, then the [SEP], then a
    order = order.masked_fill(positions == between, 2).masked_fill(positions == 0, 0)
    order = order.masked_fill(positions == last, 4).masked_fill(positions > last, 5)
    return input_ids.gather(1, order.argsort(dim=1, stable=True))


def add_language_loss(head: nn.Module) -> None:
    """Let a head on a GptEncoder learn L2 + lambda L1 (section 3.2, equation 5): it goes on predicting tokens."""

    def add(module: Any, _: object, out: Any) -> None:
        if out.loss is not None and (language := module.bert.language_loss) is not None:
            out.loss = out.loss + AUXILIARY * language

    head.register_forward_hook(add)
