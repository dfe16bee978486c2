"""What makes a user's examples doubtful though each can be used: they repeat, contradict each other, or are quoted."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from bertlab.corpora.examples import TextExample
from bertlab.corpora.labelled.parts import folded

READ = ("text", "pair", "words", "question", "context", "choices")  # fields of examples that a model reads
MANY = 0.01  # share of the examples; above it the user is warned
ENOUGH = 5  # texts with a comma; fewer may happen to be quotations
QUOTED = re.compile(r'"(?:[^"]|"")+"')  # as CSV writes a text with quotes in it


def read_of(example: Any) -> tuple:
    """Return what a model reads of an example: all but its id and its labels."""
    return tuple(getattr(example, name, None) for name in READ)


def copied(example: Any) -> tuple:
    """Return what copies of an example share: capitals, blanks and which text of a pair is first may differ."""
    read = tuple(folded(str(value)) for value in read_of(example))
    return tuple(sorted(read[:2])) if isinstance(example, TextExample) and example.pair else read


def repeated(known: Sequence, measured: Sequence) -> Iterator[str]:
    """Yield in words, if they are many, how many of the examples to measure by are also learned from."""
    learned = {copied(example) for example in known}
    if (count := sum(copied(example) in learned for example in measured)) > MANY * len(measured):
        yield (
            f"{count:,} of the {len(measured):,} examples to measure by are learned from, too, so the measures promise "
            "too much of new ones; leave the repeated ones out"
        )


def contradicted(examples: Sequence) -> Iterator[str]:
    """Yield in words, if they are many, how many texts have different classes in different rows."""
    found: dict[tuple, set] = {}
    for example in examples:
        if isinstance(example, TextExample) and not isinstance(example.label, float):
            found.setdefault(read_of(example), set()).add(example.label)
    several = [read for read, labels in found.items() if len(labels) > 1]
    if len(several) > MANY * len(examples):
        yield f"{len(several):,} of the texts have another label in another row; the first: {several[0][0]!r:.60}"


def quoted(examples: Sequence) -> Iterator[str]:
    """Yield in words, if they are many, how many texts still stand in quotes: with those within doubled, or each that
    has a comma, as Excel saves a file with tabs."""
    texts = [example.text for example in examples if isinstance(example, TextExample)]
    found = [text for text in texts if '""' in text[1:-1] and QUOTED.fullmatch(text)]
    commas = [text for text in texts if "," in text]
    advice = "a file with tabs is read without quoting: save it with commas"
    if len(found) > MANY * len(examples):
        yield f'{len(found):,} of the texts begin and end with a " and have "" within; {advice}'
    elif len(commas) >= ENOUGH and all(map(QUOTED.fullmatch, commas)):
        yield f'all {len(commas):,} texts with a comma begin and end with a "; {advice}'
