"""How a text falls into pieces: word by word, try by try, and with a smaller vocabulary."""

from collections.abc import Container
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from bertlab.errors import InputError
from bertlab.inputs.spans import after_marks
from bertlab.tokenizer import Tokenizer
from bertlab.vocabulary import SPECIAL_TOKENS


@dataclass(frozen=True)
class CutWord:
    """A word as it was written, as it reads after cleaning, and its pieces with their numbers."""

    written: str
    cleaned: str
    pieces: tuple[str, ...]
    ids: tuple[int, ...]


def cut_words(tokenizer: Tokenizer, text: str) -> list[CutWord]:
    """The words of a text in their order, punctuation marks among them, each with its pieces."""
    encoding = tokenizer.encodings(text)[0]
    rows = zip(encoding.word_ids, encoding.tokens, encoding.ids, encoding.offsets, strict=True)
    words = []
    for _, word in groupby(rows, key=itemgetter(0)):
        _, pieces, ids, offsets = zip(*word, strict=True)
        written = text[offsets[0][0] : after_marks(text, offsets[-1][1])]
        typed = pieces[0] in SPECIAL_TOKENS and pieces[0] == written  # a special token is not cleaned
        cleaned = written if typed else tokenizer.backend.normalizer.normalize_str(written).strip()
        words.append(CutWord(written, cleaned, pieces, ids))
    return words


class Try(NamedTuple):
    """Letters `start` to `end` of a word were looked up; were they in the vocabulary?"""

    start: int
    end: int
    known: bool


def longest_match_tries(word: str, vocabulary: Container[str]) -> list[Try]:
    """What greedy longest match looks up, in its order, until the word is used up or no letter fits."""
    tries, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            tries.append(Try(start, end, piece in vocabulary))
            if tries[-1].known:
                break
        if not tries[-1].known:
            break
        start = tries[-1].end
    return tries


def smallest_size(tokenizer: Tokenizer) -> int:
    """How many tokens a vocabulary learned by Tokenizer.train begins with before its first joined piece: the special
    tokens and the letters."""
    tokens = tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))
    first = len(tokenizer.all_special_ids)
    joined = (i for i, token in enumerate(tokens) if i >= first and len(token.removeprefix("##")) > 1)
    return next(joined, len(tokens))


def with_fewer_pieces(tokenizer: Tokenizer, size: int, lowercase: bool | None = None) -> Tokenizer:
    """The same with its first `size` tokens alone. Tokenizer.train numbers pieces in the order in which it learned
    them, so this is what it would have been, had training stopped there. InputError: no such size."""
    if not smallest_size(tokenizer) <= size <= tokenizer.vocab_size:
        raise InputError(f"size={size}: choose {smallest_size(tokenizer)} to {tokenizer.vocab_size}")
    lowercase = tokenizer.lowercase if lowercase is None else lowercase
    return Tokenizer.from_vocab(tokenizer.convert_ids_to_tokens(range(size)), lowercase)
