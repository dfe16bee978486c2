"""Pairs of texts that mean the same, from documentation: what a function does in a sentence, and the rest of it."""

import random
import zlib
from collections.abc import Iterator, Sequence
from functools import cache

from bertlab.corpora.examples import TextExample
from bertlab.corpora.functions import Function, prose_of, read_functions

SPLITS = {"test": range(0, 4), "dev": range(4, 6), "train": range(6, 100)}  # of a hundred functions
LEAST_WORDS = 3  # of a text
NAME_SHARE = 0.25  # of the pairs begin with the words of the name


def docstring_pairs(seed: int, count: int, split: str = "train") -> Iterator[TextExample]:
    """Yield `count` pairs from the installed packages: the first sentence of a docstring, or the words of the
    function's name, and the rest of the docstring. If there are fewer functions, they come again, in another order.

    A function belongs to one split, by a hash of its name. The same packages give the same pairs.
    """
    return pairs_of(_installed_functions(), seed, count, split)


@cache
def _installed_functions() -> tuple[Function, ...]:
    return tuple(read_functions(progress=True))


def pairs_of(functions: Sequence[Function], seed: int, count: int, split: str = "train") -> Iterator[TextExample]:
    """Yield `count` pairs of these functions, as `docstring_pairs` does."""
    rng = random.Random(f"{split} {seed}")
    known = [(function, prose_of(function)) for function in functions if split_of(function.name) == split]
    usable = [(function, texts) for function, texts in known if len(texts.split()) >= LEAST_WORDS]
    made = 0
    while usable and made < count:
        rng.shuffle(usable)
        for function, rest in usable[: count - made]:
            yield _pair(function, rest, rng)
            made += 1


def _pair(function: Function, rest: str, rng: random.Random) -> TextExample:
    first = function.first_sentence
    if rng.random() < NAME_SHARE or len(first.split()) < LEAST_WORDS:
        return TextExample(function.name, function.words, f"{first} {rest}")
    return TextExample(function.name, first, f"{function.words}. {rest}")


def split_of(name: str) -> str:
    """Return the split that a function belongs to."""
    number = zlib.crc32(name.encode()) % 100
    return next(split for split, numbers in SPLITS.items() if number in numbers)
