"""Labelled examples divided into parts that share no text."""

import random
from collections.abc import Sequence

from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample


def keep_apart(examples: Sequence, each: int, seed: int = 0) -> tuple[list, list]:
    """Return (the others, those of one in `each` texts), in their order. Examples with the same passage, words or first
    text stay together, so that no part shows a text of the other."""
    texts = sorted({shared_text(example) for example in examples})  # letter by letter, as for the bundled models
    chosen = set(random.Random(seed).sample(texts, len(texts) // each))
    kept: tuple[list, list] = [], []
    for example in examples:
        kept[shared_text(example) in chosen].append(example)
    return kept


GROUPED = QAExample, ChoiceExample  # several of which usually share a text
MANY = 20  # texts; of fewer, one that is kept away takes much with it: a label, perhaps


def groups_of(examples: Sequence, parts: int = 2) -> list[str] | None:
    """Return the text of each example, as `shared_texts` does, if several share one and many differ, so that those on
    the same text can stay together in one of `parts`; of questions and choices as many as parts are enough. Else
    None."""
    texts = shared_texts(examples)
    least = parts if isinstance(examples[0], GROUPED) else max(parts, MANY)
    return texts if least <= len(set(texts)) < len(texts) else None


def shared_texts(examples: Sequence) -> list[str]:
    """Return the `shared_text` of each example; of those that differ only in capitals and blanks, the first."""
    first: dict[str, str] = {}
    return [first.setdefault(folded(text), text) for text in map(shared_text, examples)]


def folded(text: str) -> str:
    """Return the text in small letters, with one blank between words: how copies of it are found."""
    return " ".join(text.split()).casefold()


def shared_text(example: TextExample | TokenExample | ChoiceExample | QAExample) -> str:
    """Return the text that several examples may have in common."""
    if isinstance(example, QAExample):
        return example.context
    return " ".join(example.words) if isinstance(example, TokenExample) else example.text
