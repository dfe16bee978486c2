"""BERT's first pretraining task: choose 15% of the tokens, hide most of them, ask for all of them.

Devlin et al. 2019, section 3.1 and appendix A.1: of the chosen tokens 80% become [MASK], 10% a random
token and 10% stay as they are. The last two keep the model from relying on [MASK], which it never meets
outside pretraining.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.errors import InputError, require
from bertlab.tokenizer import Tokenizer

NOT_CHOSEN, MASKED, RANDOM, KEPT = range(4)  # values of `Masked.action`


@dataclass(frozen=True)
class Masking:
    """Share of tokens chosen, and what becomes of these: [MASK], a random token, the rest is kept.

    `mask=1, random=0` is [MASK] alone, `mask=0, random=1` replacement alone (Devlin et al. 2019, appendix C.2).
    """

    PAPER: ClassVar["Masking"]  # the defaults: what measures hide, whatever a recipe trains with

    rate: float = 0.15  # more can be better (Wettig et al. 2023)
    mask: float = 0.8
    random: float = 0.1
    final_rate: float = 0.0  # which the rate falls to over a training, in a straight line; 0: it stays
    whole_word: bool = False  # all pieces of a word or none (Devlin et al., models of May 2019; Cui et al. 2021)
    chinese_words: bool = False  # with whole_word: the words that jieba finds in Chinese, not its characters

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise InputError(f"masking rate={self.rate}: choose a share above 0 and up to 1")
        if not 0 <= self.final_rate <= 1:
            raise InputError(f"masking final_rate={self.final_rate}: must be between 0 and 1")
        if not (self.mask >= 0 and self.random >= 0 and self.mask + self.random <= 1):
            raise InputError(f"masking mask={self.mask}, random={self.random}: shares of at most 1 in all")
        if self.chinese_words:
            if not self.whole_word:
                raise InputError("masking chinese_words=True: is for whole words; set masking.whole_word=true too")
            require("rjieba", "chinese")

    @property
    def shares(self) -> tuple[float, float, float]:
        """What becomes of chosen tokens: the shares of [MASK], of random tokens and of those that stay."""
        return self.mask, self.random, 1 - self.mask - self.random

    def after(self, share: float) -> "Masking":
        """Return how much is hidden after this share of a training."""
        rate = self.rate + share * (self.final_rate - self.rate) if self.final_rate else self.rate
        return replace(self, rate=rate, final_rate=0.0)


Masking.PAPER = Masking()


@dataclass(frozen=True)
class Masked:
    """What the model sees, what it must predict, and what was done: three tensors (B, S)."""

    input_ids: Tensor
    labels: Tensor  # the original id where chosen, -100 elsewhere
    action: Tensor  # uint8: 0 not chosen, 1 [MASK], 2 random, 3 kept


def mask_tokens(
    input_ids: Tensor,
    special_tokens_mask: Tensor,
    tokenizer: Tokenizer,
    generator: torch.Generator,
    masking: Masking = Masking.PAPER,
) -> Masked:
    """Choose tokens of `input_ids` (B, S) and hide them; the same generator state, the same result.

    Of a row's n ordinary tokens (not True in `special_tokens_mask` (B, S)) exactly round(rate x n) are
    chosen, at least one if n > 0; with whole words as near to that as these come, at least one word. The
    80/10/10 split is exact too, over the batch; it treats the pieces of a word one by one.
    """
    ordinary = ~special_tokens_mask.bool()
    continues = tokenizer.continues_word(input_ids) if masking.whole_word else None
    if continues is not None and masking.chinese_words:
        from bertlab.inputs.chinese import continues_chinese_word

        continues |= continues_chinese_word(input_ids, tokenizer)
    words = _words(ordinary, continues)
    chosen = _choose(ordinary, words, masking.rate, generator)
    action = torch.zeros_like(input_ids, dtype=torch.uint8)
    action[chosen] = _actions(int(chosen.sum()), masking, generator).to(action.device)
    hidden = input_ids.masked_fill(action == MASKED, tokenizer.mask_token_id)
    replaced = action == RANDOM
    hidden[replaced] = _random_ids(int(replaced.sum()), tokenizer, generator).to(hidden)
    return Masked(hidden, input_ids.masked_fill(~chosen, IGNORED), action)


def _words(ordinary: Tensor, continues: Tensor | None) -> Tensor:
    """Return the position (B, S) of the first piece of each token's word, which stands for the word.

    A text that was cut inside a word begins with the rest of it, for which the special token before stands. Without
    `continues` (B, S) every token is its own word.
    """
    if continues is None:
        return _positions(ordinary)
    goes_on = continues & ordinary
    goes_on[:, 0] = False
    return _positions(ordinary).masked_fill(goes_on, 0).cummax(dim=1).values


def _choose(ordinary: Tensor, words: Tensor, rate: float, generator: torch.Generator) -> Tensor:
    """Choose the right number of ordinary positions of each row, all sets of words equally likely: bool (B, S)."""
    available = ordinary.sum(dim=1, keepdim=True)  # (B, 1)
    wanted = (available.double() * rate).round().clamp(min=1).minimum(available)  # (B, 1)
    lots = torch.rand(ordinary.shape, generator=generator, device=generator.device).to(ordinary.device)
    lots = lots.gather(1, words).masked_fill(~ordinary, 2.0)  # the pieces of a word share one
    order = lots.argsort(dim=1, stable=True)  # ordinary positions first, the words shuffled
    pieces = torch.zeros_like(words).scatter_add(1, words, ordinary.long()).gather(1, words)  # of its word
    before = _before(words.gather(1, order))
    # a word at the edge is in if most of it is; the first always
    among_first = (before + pieces.gather(1, order) / 2 <= wanted) | (before == 0)
    return torch.zeros_like(ordinary).scatter(1, order, among_first) & ordinary


def _before(words: Tensor) -> Tensor:
    """Count the tokens before the word of each, in rows of words (B, S) whose pieces stand together."""
    begins = torch.ones_like(words, dtype=torch.bool)
    begins[:, 1:] = words[:, 1:] != words[:, :-1]
    return _positions(words).masked_fill(~begins, 0).cummax(dim=1).values


def _positions(rows: Tensor) -> Tensor:
    return torch.arange(rows.shape[1], device=rows.device).expand(rows.shape)  # (S,) -> (B, S)


def _actions(count: int, masking: Masking, generator: torch.Generator) -> Tensor:
    """Return the actions in their exact shares, shuffled: uint8 (count,)."""
    amounts = torch.tensor(_apportion(count, masking.shares))
    actions = torch.tensor([MASKED, RANDOM, KEPT], dtype=torch.uint8).repeat_interleave(amounts)
    return actions[torch.randperm(count, generator=generator, device=generator.device).cpu()]


def _apportion(count: int, shares: Sequence[float]) -> list[int]:
    """Return whole numbers that sum to `count`, nearest to the shares (largest remainder rounding)."""
    exact = [round(count * share, 6) for share in shares]  # 0.8 + 0.1 + 0.1 is not quite 1 in floats
    whole = [int(amount) for amount in exact]
    by_remainder = sorted(range(len(shares)), key=lambda i: whole[i] - exact[i])
    for i in by_remainder[: count - sum(whole)]:
        whole[i] += 1
    return whole


def _random_ids(count: int, tokenizer: Tokenizer, generator: torch.Generator) -> Tensor:
    """Draw ids (count,) evenly from the vocabulary without its special tokens."""
    specials = sorted(tokenizer.all_special_ids)
    high = tokenizer.vocab_size - len(specials)
    ids = torch.randint(max(high, 1), (count,), generator=generator, device=generator.device)
    for special in specials:  # number the ordinary tokens only: step over each special one
        ids += ids >= special
    return ids
