"""Which words around a masked position decide the prediction there: uncovered step by step, or masked one by one."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bertlab.errors import InputError
from bertlab.explain.words.fill import Fill, MaskedLM, fill_positions, masked_row
from bertlab.tokenizer import Tokenizer

ROWS = 64  # at a time


def only_gap(model: MaskedLM, tokenizer: Tokenizer, text: str) -> tuple[dict[str, Tensor], int]:
    """A text with one [MASK] as a row (1, S), and where its gap is. InputError for none or several."""
    batch, positions = masked_row(model, tokenizer, text)
    if len(positions) > 1:
        raise InputError(f"the text holds {len(positions)} [MASK]: leave one")
    return batch, positions[0]


def uncovered(
    model: MaskedLM, tokenizer: Tokenizer, text: str, left: int, right: int, k: int = 5
) -> tuple[list[str], Fill]:
    """The tokens that are left when only so many on each side of the gap are in sight, all others [MASK], and the k
    likeliest words for the gap."""
    batch, gap = only_gap(model, tokenizer, text)
    ids = batch["input_ids"]  # (1, S)
    ids[0, covered(ids.size(1), gap, left, right)] = tokenizer.mask_token_id
    fill = fill_positions(model, tokenizer, batch, [gap], k)[0]
    return tokenizer.convert_ids_to_tokens(ids[0]), fill


def covered(size: int, gap: int, left: int, right: int) -> Tensor:
    """Bool (S,): the positions further from the gap than `left` and `right`, except [CLS] and [SEP] at the ends."""
    position = torch.arange(size)
    return ((position < gap - left) | (position > gap + right)) & (position > 0) & (position < size - 1)


def uncover(model: MaskedLM, tokenizer: Tokenizer, text: str, words: Sequence[str]) -> Tensor:
    """Probability at the gap of each of W `words` with 0, 1, ... tokens in sight to its left and to its right:
    (W, left + 1, right + 1)."""
    batch, gap = only_gap(model, tokenizer, text)
    size = batch["input_ids"].size(1)
    lefts, rights = range(gap), range(size - 1 - gap)  # [CLS] and [SEP] are always in sight
    hidden = torch.stack([covered(size, gap, left, right) for left in lefts for right in rights])  # (L * R, S)
    found = _probabilities(model, tokenizer, batch, gap, hidden, words)  # (L * R, W)
    return found.T.reshape(len(words), len(lefts), len(rights))  # (W, L * R) -> (W, L, R)


def leave_one_out(model: MaskedLM, tokenizer: Tokenizer, text: str, words: Sequence[str]) -> Tensor:
    """Probability at the gap of each of W `words` when one more token is [MASK], each in turn: (W, S).

    At the gap itself, at [CLS] and [SEP] nothing more is hidden.
    """
    batch, gap = only_gap(model, tokenizer, text)
    hidden = torch.eye(batch["input_ids"].size(1), dtype=torch.bool)  # (S, S)
    hidden[[0, -1]] = False
    return _probabilities(model, tokenizer, batch, gap, hidden, words).T  # (S, W) -> (W, S)


@torch.inference_mode()
def _probabilities(
    model: MaskedLM, tokenizer: Tokenizer, batch: dict[str, Tensor], gap: int, hidden: Tensor, words: Sequence[str]
) -> Tensor:
    """(N, W): at the gap of the row (1, S), with N sets of further positions `hidden` (N, S)."""
    wanted = [tokenizer.id_of(word) for word in words]
    parts = []
    for more in hidden.split(ROWS):
        rows = {name: tensor.repeat(len(more), 1) for name, tensor in batch.items()}  # (1, S) -> (n, S)
        rows["input_ids"][more] = tokenizer.mask_token_id
        states = model.bert(**rows).last_hidden_state[:, gap]  # (n, S, H) -> (n, H)
        parts.append(model.mlm(states).float().softmax(-1)[:, wanted])  # (n, V) -> (n, W)
    return torch.cat(parts)
