"""Labelled words in the format of the CoNLL shared tasks: one word a line, its label in a column."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

from bertlab.corpora.examples import TokenExample
from bertlab.corpora.reading import Skipped, open_text, usable
from bertlab.errors import InputError

Line = tuple[int, str]  # its number, and what it holds

OUTSIDE = "O"
LONGEST_SENTENCE = 100_000  # words
PREFIX = re.compile("[BIMES]-")  # of BIO, IOB1, IO, BIOES and BMES
ENTITY = re.compile(rf"{OUTSIDE}|{PREFIX.pattern}\S+")
BLANKS = re.compile("[ \t]+")  # str.split() would also cut at a no-break space
BREAK = re.compile("[ \t\r\n]*|-DOCSTART-.*", re.DOTALL)


def read_conll(
    path: str | Path,
    *,
    word_column: int = 0,
    label_column: int = -1,
    labelled: bool = True,
    encoding: str = "utf-8",
    skipped: Skipped | None = None,
) -> Iterator[TokenExample]:
    """Yield the sentences of a file with one word a line, a blank line after each sentence, and columns separated by
    tabs, or else by blanks.

    Columns are counted from 0, and from the right with -1. -DOCSTART- lines, and comments ("# ...") before a sentence,
    are left out. Labels are BIO or BIOES, which IOB1, IO and BMES become, or plain (DET). A sentence's id is the number
    of its first line. InputError names the line where something is wrong; with `skipped` such a sentence is left out
    and counted, and so is one with a label that it does not want.
    """
    path, tags = path if isinstance(path, Path) else Path(path), Tags()

    def read(lines: Sequence[Line]) -> TokenExample:
        rows = _rows(lines, str(path))
        words = [check_word(_cell(row, word_column, "--text-column", where), where) for where, row in rows]
        if not labelled:
            return TokenExample(str(lines[0][0]), tuple(words))
        cells = [(_cell(row, label_column, "--label-column", where), where) for where, row in rows]
        (where, first), *_ = rows
        if word_column % len(first) == label_column % len(first):
            raise InputError(f"{where}: column {word_column} cannot hold both words and labels; see --label-column")
        return TokenExample(str(lines[0][0]), tuple(words), tags.read(cells))

    yield from wanted(usable(_sentences(path, encoding), read, skipped), skipped)


def wanted(examples: Iterator[TokenExample], skipped: Skipped | None) -> Iterator[TokenExample]:
    """Yield the sentences without those with an unwanted label, which are counted."""
    return (example for example in examples if skipped is None or skipped.wants(example.labels or ()))


def _sentences(path: Path, encoding: str) -> Iterator[list[Line]]:
    with open_text(path, encoding) as file:
        for between, lines in groupby(enumerate(file, start=1), lambda line: bool(BREAK.fullmatch(line[1]))):
            if not between and (sentence := _without_comments(_words(lines, path))):
                yield sentence


def _words(lines: Iterator[Line], path: Path) -> list[Line]:
    """Return the lines up to a blank one. InputError: they are too many for a sentence."""
    found = list(islice(lines, LONGEST_SENTENCE + 1))
    if len(found) > LONGEST_SENTENCE:
        where = f"{path}, line {found[0][0]}"
        raise InputError(f"{where}: more than {LONGEST_SENTENCE:,} lines without a blank one, which ends a sentence")
    return found


def _without_comments(lines: list[Line]) -> list[Line]:
    """Return the sentence without the lines "# ..." before it, unless "#" is its first word: then it has columns."""
    width = len(_split(lines[-1][1], lines))
    for number, (_, line) in enumerate(lines):
        if not line.startswith("# ") or (number < len(lines) - 1 and len(_split(line, lines)) == width):
            return lines[number:]
    return []


def _split(line: str, lines: Sequence[Line]) -> list[str]:
    """Return the columns of a line, separated as in the last line of its sentence."""
    if "\t" in lines[-1][1]:
        return [cell.strip(" \r\n") for cell in line.split("\t")]
    return BLANKS.split(line.strip(" \r\n"))


def _rows(lines: Sequence[Line], path: str) -> list[tuple[str, list[str]]]:
    """Return (file and line in words, columns) of each line; all must have equally many."""
    rows = [(f"{path}, line {number}", _split(line, lines)) for number, line in lines]
    width = len(rows[0][1])
    for where, row in rows:
        if len(row) != width:
            raise InputError(f"{where}: {len(row)} columns, but {width} where the sentence begins, line {lines[0][0]}")
    return rows


def _cell(row: list[str], column: int, option: str, where: str) -> str:
    if not -len(row) <= column < len(row):
        raise InputError(f"{where}: there is no column {column}, only {len(row)} counted from 0; see {option}")
    return row[column]


def check_word(word: object, where: str) -> str:
    """Return the word, if it is one; it may be an unusual blank, as in tweets."""
    if not isinstance(word, str) or not word or "\0" in word:
        raise InputError(f"{where}: {word!r:.40} is no word")
    return word


@dataclass
class Tags:
    """The labels of one file: all but O have a prefix (B-x), or all are plain (DET). The first one decides."""

    have_prefixes: bool | None = None

    def read(self, cells: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Return the labels of a sentence, given as (label, its file and line in words). InputError: one is none."""
        for label, where in cells:
            if self.have_prefixes is None and label not in ("", OUTSIDE):
                self.have_prefixes = bool(PREFIX.match(label))
            fits = ENTITY.fullmatch(label) if self.have_prefixes else label and not PREFIX.match(label)
            if not fits:
                kinds = "all are plain (DET), or all are O, B-x, I-x, M-x, E-x or S-x"
                raise InputError(f"{where}: {label!r} is no label: {kinds}; see --label-column")
        labels = [label for label, _ in cells]
        return as_bio(labels) if self.have_prefixes else tuple(labels)


def as_bio(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the same labels, but with B- where an entity begins with I-, as in IOB1 and IO, and with I- for M-; BIO
    and BIOES stay."""
    labels = [f"I-{label[2:]}" if label[:2] == "M-" else label for label in labels]
    before = [OUTSIDE, *labels]
    return tuple(
        f"B-{label[2:]}" if label[0] == "I" and previous not in (f"B-{label[2:]}", label) else label
        for previous, label in zip(before, labels, strict=False)
    )


def are_entities(labels: Iterable[str]) -> bool:
    """Return whether the labels mark entities by prefixes, or none at all; False of plain ones."""
    return all(ENTITY.fullmatch(label) for label in labels)


def with_prefixes(labels: Sequence[str]) -> list[str]:
    """Return the labels as those of entities; of plain ones, neighbours with the same label are one, and O is none."""
    return list(labels) if are_entities(labels) else [label if label == OUTSIDE else f"I-{label}" for label in labels]
