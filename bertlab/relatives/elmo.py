"""ELMo: two LSTM language models, from the left and from the right, whose layers are mixed (Peters et al. 2018).

Both directions share the embeddings and the output layer (section 3.1), here of word pieces instead of characters. The
second layer adds its input to its output (section 3.4). Each direction alone predicts a word from one side; each layer
of BERT sees both sides at once.

Shapes: B texts, S tokens, D width of one direction, H = 2D, L layers, V vocabulary.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bertlab.config import IGNORED, BertConfig
from bertlab.model.base import PretrainedModel
from bertlab.model.cpu import Dropout


@dataclass
class ElmoOutput:
    """What an Elmo computes. A token's state from the left knows the tokens up to it, that from the right those from it
    on."""

    hidden_states: tuple[Tensor, ...]  # L+1 x (B, S, H): from the left | from the right, [0] = the embedding twice
    loss: Tensor | None = None  # mean over the predicted tokens of both directions
    forward_loss: Tensor | None = None
    backward_loss: Tensor | None = None

    @property
    def last_hidden_state(self) -> Tensor:
        return self.hidden_states[-1]


class Elmo(PretrainedModel):
    """The two language models. Of a BertConfig they heed vocab_size, hidden_size (H, both directions together),
    num_hidden_layers, hidden_dropout_prob and pad_token_id.

    A call takes input_ids and attention_mask (B, S). With `predict`, each direction predicts the next token on its way,
    special tokens included, and the output has the losses.
    """

    def __init__(self, config: BertConfig):
        super().__init__(config)
        width = config.hidden_size // 2
        self.word = nn.Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)
        self.lefts = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(config.num_hidden_layers))
        self.rights = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(config.num_hidden_layers))
        self.dropout = Dropout(config.hidden_dropout_prob)
        self.decoder = nn.Linear(width, config.vocab_size)
        nn.init.normal_(self.word.weight, std=config.initializer_range)  # the LSTMs as torch draws them

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, *, predict: bool = False) -> ElmoOutput:
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        lengths = attention_mask.sum(1)  # (B,)
        order = reversed_order(lengths, input_ids.size(1))  # (B, S)
        left = self._states(self.word(input_ids), self.lefts, lengths)
        right = self._states(self.word(input_ids.gather(1, order)), self.rights, lengths)
        right = [state.gather(1, order[..., None].expand_as(state)) for state in right]  # back in the order of the text
        states = tuple(torch.cat(pair, -1) for pair in zip(left, right, strict=True))  # L+1 x (B, S, H)
        if not predict:
            return ElmoOutput(states)
        real = input_ids.masked_fill(attention_mask == 0, IGNORED)  # (B, S)
        before = real[:, :-1].masked_fill(real[:, 1:] == IGNORED, IGNORED)  # no token is before padding
        forward, backward = self._loss(left[-1][:, :-1], real[:, 1:]), self._loss(right[-1][:, 1:], before)
        return ElmoOutput(states, (forward + backward) / 2, forward, backward)

    def _states(self, x: Tensor, layers: nn.ModuleList, lengths: Tensor) -> list[Tensor]:
        """Return L+1 states (B, S, D) of one direction, x first; of padding they are 0."""
        states, size = [x], x.size(1)
        for number, layer in enumerate(layers):
            packed = pack_padded_sequence(self.dropout(x), lengths.cpu(), batch_first=True, enforce_sorted=False)
            new, _ = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=size)
            x = new + x if number else new  # (B, S, D)
            states.append(x)
        return states

    def _loss(self, states: Tensor, following: Tensor) -> Tensor:
        """states (B, S - 1, D), following (B, S - 1) with -100 for padding -> the mean loss."""
        wanted = following != IGNORED
        return F.cross_entropy(self.decoder(self.dropout(states[wanted])), following[wanted])


def reversed_order(lengths: Tensor, size: int) -> Tensor:
    """Return for each text the positions of its tokens from the last to the first, then those of padding: (B, S)."""
    positions = torch.arange(size, device=lengths.device).expand(len(lengths), size)  # (B, S)
    back = lengths[:, None] - 1 - positions
    return torch.where(back >= 0, back, positions)
