"""What a task's head stands on when the model under it is a relative: called as a BertModel is, giving its output.

Shapes: B rows, S tokens, H hidden size, W width of the frozen states.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bertlab.config import BertConfig
from bertlab.model import BertModel
from bertlab.model.encoder import BertOutput
from bertlab.model.pooling import LayerMix
from bertlab.relatives.word2vec import Word2Vec

LSTM_LAYERS = 2  # Devlin et al. 2019, section 5.3


class LastToken(nn.Module):
    """A left-to-right encoder: the state of the last token, which alone has seen the whole text, stands for it."""

    def __init__(self, bert: BertModel):
        super().__init__()
        self.bert = bert

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None, **options: Any
    ) -> BertOutput:
        out = self.bert(input_ids, attention_mask, token_type_ids, **options)
        rows = torch.arange(len(input_ids), device=input_ids.device)
        out.pooler_output = out.last_hidden_state[rows, attention_mask.sum(1) - 1]  # (B, S, H) -> (B, H)
        return out


class WithBiLSTM(nn.Module):
    """A pretrained model and over its states a new BiLSTM of width H, as of `config` (Devlin et al. 2019, section 5.3).

    If `frozen`, the model gives fixed features, and BiLSTM, mix and head alone learn (Peters et al. 2018, section 3.3).
    `layers` says which states: "embeddings", or a layer_mix.
    """

    def __init__(self, model: Any, config: BertConfig, layers: str = "last", frozen: bool = True):
        super().__init__()
        self.model, self.frozen = model.requires_grad_(not frozen), frozen
        width: int = model.seen.embedding_dim if isinstance(model, Word2Vec) else model.config.hidden_size
        self.mix = None
        if layers != "embeddings":
            self.mix = LayerMix(config.changed(layer_mix=layers, hidden_size=width, num_attention_heads=1))
            width = self.mix.width
        self.lstm = nn.LSTM(width, config.hidden_size // 2, LSTM_LAYERS, batch_first=True, bidirectional=True)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None, **_: object
    ) -> BertOutput:
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            states = layer_states(self.model, input_ids, attention_mask, token_type_ids)  # L+1 x (B, S, W)
        mixed = states[0] if self.mix is None else self.mix(states)
        lengths = attention_mask.sum(1).cpu()
        packed = pack_padded_sequence(mixed, lengths, batch_first=True, enforce_sorted=False)
        read, _lengths = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=input_ids.size(1))
        return BertOutput(read)  # (B, S, H)

    def train(self, mode: bool = True) -> "WithBiLSTM":
        """As in nn.Module, but a frozen model stays in eval mode."""
        super().train(mode)
        self.model.train(mode and not self.frozen)
        return self


def layer_states(
    model: Any, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None
) -> tuple[Tensor, ...]:
    """Return the states of all layers, L+1 x (B, S, W), [0] = embeddings; word vectors have no more than these."""
    if isinstance(model, Word2Vec):
        return (model.seen(input_ids),)
    if isinstance(model, BertModel):
        return model(input_ids, attention_mask, token_type_ids, output_hidden_states=True).hidden_states
    return model(input_ids, attention_mask).hidden_states
