"""One gap in whole words: the likeliest ones, and where a word stands that somebody else guessed."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bertlab.explain.text import clean
from bertlab.explain.words.fill import Fill, MaskedLM, masked_row, nth, position_log_probabilities
from bertlab.tokenizer import Tokenizer


@dataclass(frozen=True)
class WordGuesses:
    """The likeliest whole words at one masked position, and `rank` (1 = best) and `probability` of `word` among them.

    `no_words` is the probability of all tokens that are no word, which have no rank. `rank` is 0 if `word` is not one
    word of the vocabulary.
    """

    fill: Fill
    no_words: float
    word: str = ""
    rank: int = 0
    probability: float = 0.0

    @property
    def with_word(self) -> Fill:
        """The likeliest words, and behind them `word` if it has a rank and is none of them."""
        if not self.rank or self.word in self.fill.tokens:
            return self.fill
        tokens, probabilities = [*self.fill.tokens, self.word], [*self.fill.probabilities, self.probability]
        return replace(self.fill, tokens=tokens, probabilities=probabilities)


def guess_words(
    model: MaskedLM,
    tokenizer: Tokenizer,
    text: str,
    word: str = "",
    gap: int = 0,
    k: int = 5,
    limit: int | None = None,
) -> WordGuesses:
    """Return the `k` likeliest words at masked position number `gap` of a text, counted from 0, and the rank of `word`.

    `limit` is as in fill_mask. Raises InputError as that does.
    """
    batch, positions = masked_row(model, tokenizer, text, limit=limit)
    position = nth(positions, gap)
    log_p = position_log_probabilities(model, tokenizer, batch, [position])[0]  # (V,)
    none = no_words(tokenizer)  # (V,)
    fill = likeliest_words(tokenizer, log_p, none, position, k)
    found = WordGuesses(fill, float(log_p[none].exp().sum()), word)
    token = one_token(tokenizer, word)
    if token is None or none[token]:
        return found
    rank, p = int(((log_p > log_p[token]) & ~none).sum()) + 1, float(log_p[token].exp())
    return replace(found, word=tokenizer.convert_ids_to_tokens(token), rank=rank, probability=p)


def no_words(tokenizer: Tokenizer) -> Tensor:
    """Return which tokens (V,) are no word: pieces that only continue one ("##ing"), punctuation, special tokens."""
    every = torch.arange(tokenizer.vocab_size)
    return tokenizer.continues_word(every) | tokenizer.is_mark(every) | tokenizer.special_mask(every)


def likeliest_words(tokenizer: Tokenizer, log_probabilities: Tensor, none: Tensor, position: int, k: int) -> Fill:
    """Return the Fill of the `k` likeliest whole words, of the log-probabilities (V,) at a position; `none` (V,) are
    the tokens that are no word."""
    best = log_probabilities.masked_fill(none, -torch.inf).topk(min(k, int((~none).sum())))
    tokens = tokenizer.convert_ids_to_tokens(best.indices.tolist())
    entropy = -float((log_probabilities.exp() * log_probabilities).sum())  # of all tokens
    return Fill(position, tokens, best.values.exp().tolist(), entropy)


def one_token(tokenizer: Tokenizer, word: str) -> int | None:
    """Return the id of a word that is one token; None if it is several, special or unknown."""
    ids = tokenizer.encode_batch([clean(word)])[0]
    return None if len(ids) != 1 or ids[0] in tokenizer.all_special_ids else ids[0]
