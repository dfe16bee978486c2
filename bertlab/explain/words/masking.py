"""One draw of the 80/10/10 masking, and how well the model predicts the chosen tokens."""

from dataclasses import dataclass
from statistics import fmean

import torch
from torch import Tensor

from bertlab.explain.text import encode, longest
from bertlab.explain.words.fill import MaskedLM, position_log_probabilities
from bertlab.inputs.masking import Masking, mask_tokens
from bertlab.tokenizer import Tokenizer


@dataclass(frozen=True)
class Guess:
    """The model's guess at one chosen position: `probability` and `rank` (1 = best) of the true token.

    `loss` is -ln p(true token), in nats.
    """

    position: int
    action: int
    truth: str
    shown: str
    guess: str
    probability: float
    rank: int
    loss: float


@dataclass(frozen=True)
class SampledMasking:
    """S tokens before and after masking; `actions` is 0 not chosen, 1 [MASK], 2 random, 3 kept.

    `special` marks tokens that are never chosen; `guesses` has one entry for each chosen position.
    """

    before: list[str]
    after: list[str]
    actions: list[int]
    special: list[bool]
    guesses: list[Guess]
    loss: float


def sample_masking(
    model: MaskedLM,
    tokenizer: Tokenizer,
    text: str,
    pair: str | None = None,
    rate: float = Masking.PAPER.rate,
    seed: int = 0,
    limit: int | None = None,
    mask: float = Masking.PAPER.mask,
    random: float = Masking.PAPER.random,
) -> SampledMasking:
    """Mask a text as pretraining does (paper section 3.1) and let the model predict the chosen tokens.

    Of these a share `mask` becomes [MASK], a share `random` a random token; the rest stays. `loss` is the mean
    -ln p(true token) over them, in nats. Raises InputError when the text is empty.
    """
    encoded = encode(tokenizer, text, pair, longest(model, limit))
    ids = encoded.batch["input_ids"]  # (1, S)
    special = tokenizer.special_mask(ids)  # (1, S)
    generator = torch.Generator().manual_seed(seed)
    masked = mask_tokens(ids, special, tokenizer, generator, Masking(rate, mask, random))
    actions = masked.action[0].tolist()  # (1, S) -> S
    after = tokenizer.convert_ids_to_tokens(masked.input_ids[0])
    chosen = [position for position, action in enumerate(actions) if action]
    batch = encoded.batch | {"input_ids": masked.input_ids}
    log_p = position_log_probabilities(model, tokenizer, batch, chosen)  # (M, V)
    guesses = [
        _guess(position, actions[position], encoded.tokens, after, row, int(ids[0, position]), tokenizer)
        for position, row in zip(chosen, log_p, strict=True)
    ]
    loss = fmean(guess.loss for guess in guesses) if guesses else 0.0
    return SampledMasking(encoded.tokens, after, actions, special[0].tolist(), guesses, loss)


def _guess(
    position: int, action: int, before: list[str], after: list[str], row: Tensor, truth: int, tokenizer: Tokenizer
) -> Guess:
    guess = tokenizer.convert_ids_to_tokens(int(row.argmax()))
    rank = int((row > row[truth]).sum()) + 1
    p, loss = float(row[truth].exp()), -float(row[truth])
    return Guess(position, action, before[position], after[position], guess, p, rank, loss)
