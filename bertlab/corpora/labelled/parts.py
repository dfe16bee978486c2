"""Labelled examples divided into parts that share no text."""

import random
from collections.abc import Sequence

from bertlab.corpora.examples import ChoiceExample, QAExample, TextExample, TokenExample


def keep_apart(examples: Sequence, each: int, seed: int = 0) -> tuple[list, list]:
    """Return (the others, those of one in `each` texts), in their order. Examples with the same passage, words or first
    text stay together, so that no part shows a text of the other."""
    texts = sorted({shared_text(example) for example in examples})
    chosen = set(random.Random(seed).sample(texts, len(texts) // each))
    kept: tuple[list, list] = [], []
    for example in examples:
        kept[shared_text(example) in chosen].append(example)
    return kept


GROUPED = QAExample, ChoiceExample  # several of which usually share a text
MANY = 20  # texts; of fewer, one that is kept away takes much with it: a label, perhaps


def groups_of(examples: Sequence, parts: int = 2) -> list[str] | None:
    """Return the text of each example, if several share one and many differ, so that those on the same text can stay
    together in one of `parts`; of questions and choices as many as parts are enough. Else None."""
    texts = [shared_text(example) for example in examples]
    least = parts if isinstance(examples[0], GROUPED) else max(parts, MANY)
    return texts if least <= len(set(texts)) < len(texts) else None


def shared_text(example: TextExample | TokenExample | ChoiceExample | QAExample) -> str:
    """Return the text that several examples may have in common."""
    if isinstance(example, QAExample):
        return example.context
    return " ".join(example.words) if isinstance(example, TokenExample) else example.text
