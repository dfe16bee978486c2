"""From tokens to words: of each word's pieces the first one stands for it (Devlin et al. 2019, section 5.3).

Shapes: B sequences, S tokens, W words in the longest row, H hidden size.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def places_of_words(word_mask: Tensor) -> Tensor:
    """First pieces (B, S) bool -> (B, W) bool: which places the words take when each row has its words alone."""
    counts = word_mask.sum(1)  # (B,)
    return torch.arange(max(int(counts.max()), 1), device=counts.device) < counts[:, None]


def moved(x: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """(B, S, ...) -> (B, W, ...), or back: what stands in each row where `source` (B, S) is True goes, in its order,
    to where `target` (B, W) is; 0 elsewhere."""
    out = x.new_zeros(*target.shape, *x.shape[2:])
    out[target] = x[source]
    return out


class WordConvolution(nn.Conv1d):
    """Each word with its two neighbours: a convolution three words wide, then GELU (see Collobert et al. 2011)."""

    def __init__(self, width: int, hidden_size: int):
        super().__init__(width, hidden_size, kernel_size=3, padding=1)

    def forward(self, states: Tensor, word_mask: Tensor) -> Tensor:
        """(B, S, width), first pieces (B, S) bool -> (B, S, H), 0 where no word begins."""
        places = places_of_words(word_mask)
        words = moved(states, word_mask, places).transpose(1, 2)  # (B, S, width) -> (B, width, W)
        mixed = F.gelu(super().forward(words)).transpose(1, 2)  # (B, width, W) -> (B, W, H)
        return moved(mixed, places, word_mask)  # (B, W, H) -> (B, S, H)
