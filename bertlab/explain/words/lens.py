"""What the masked-word head predicts from the states between layers: the logit lens (nostalgebraist 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.explain.words.fill import Fill, MaskedLM, likeliest, log_probabilities_of, masked_row
from bertlab.tokenizer import Tokenizer


@dataclass(frozen=True)
class Lens:
    """One position, read after each of L layers; index 0 of each list stands for the embeddings.

    `layers` are the L+1 fill-ins. `probabilities` and `ranks` (1 = best) are those of `answer`, the likeliest token
    after the last layer.
    """

    position: int
    layers: list[Fill]
    answer: str
    probabilities: list[float]
    ranks: list[int]

    @property
    def first_lead(self) -> int:
        """The first layer after which the answer is the likeliest token."""
        return self.ranks.index(1)

    @property
    def settled(self) -> int:
        """The layer from which the answer leads until the end."""
        behind = [layer for layer, rank in enumerate(self.ranks) if rank > 1]
        return behind[-1] + 1 if behind else 0


def logit_lens(
    model: MaskedLM,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None = None,
    position: int | None = None,
    k: int = 5,
    masked: Sequence[int] = (),
    limit: int | None = None,
) -> Lens:
    """Read the masked `position` (None: the first) of a text or pair after every layer, `k` tokens each.

    The head was trained on the last layer only, and its matrix is the table of input embeddings: a word that it does
    not find in an early state may be there in another basis (Belrose et al. 2023 train a lens for each layer).

    `masked` and `limit` are as in fill_mask. Raises InputError as that does, and when `position` is not masked.
    """
    batch, gaps = masked_row(model, tokenizer, text, pair, masked, limit)
    position = gaps[0] if position is None else position
    if position not in gaps:
        raise InputError(f"position={position} is not masked; masked are: {', '.join(map(str, gaps))}")
    log_p = layer_log_probabilities(model, tokenizer, batch, position)  # (L+1, V)
    layers = likeliest(tokenizer, log_p, [position] * len(log_p), k)
    best = int(log_p[-1].argmax())
    ranks = (log_p > log_p[:, best, None]).sum(-1) + 1  # (L+1, V) -> (L+1,)
    answer = tokenizer.convert_ids_to_tokens(best)
    return Lens(position, layers, answer, log_p[:, best].exp().tolist(), ranks.tolist())


@torch.inference_mode()
def layer_log_probabilities(model: MaskedLM, tokenizer: Tokenizer, batch: dict[str, Tensor], position: int) -> Tensor:
    """(L+1, V): the head's log-probabilities at one position of a row (1, S), after the embeddings and each layer."""
    states = model.bert(**batch, output_hidden_states=True).hidden_states  # L+1 x (1, S, H)
    at_position = torch.stack([state[0, position] for state in states])  # L+1 x (1, S, H) -> (L+1, H)
    return log_probabilities_of(tokenizer, model.mlm(at_position))  # (L+1, H) -> (L+1, V)
