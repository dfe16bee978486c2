"""Labelled words in the format of the CoNLL shared tasks: one word a line, its label in a column."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path

from bertlab.corpora.examples import TokenExample
from bertlab.corpora.labelled.columns import Columns
from bertlab.corpora.labelled.records import JSON, NAME_IT_JSON, read_records
from bertlab.corpora.labelled.schemes import BRACKETS, ENTITY, OUTSIDE, PREFIX, USUAL, Spelling, as_bio, spelling_of
from bertlab.corpora.letters import UNSPACED
from bertlab.corpora.reading import Skipped, check_prose, open_text, usable
from bertlab.errors import InputError

Line = tuple[int, str]  # its number, and what it holds

LONGEST_SENTENCE = 100_000  # words
BLANKS = re.compile("[ \t]+")  # str.split() would also cut at a no-break space
BREAK = re.compile("[ \t\r\n]*|-DOCSTART-.*|#(?:begin|end) document.*", re.DOTALL)  # also as in CoNLL 2012
COMMENT = re.compile(  # of CoNLL-U; MultiCoNER's "# id"; a number, as of sentences
    r"# (?:newdoc|newpar|id)\b|# ?[\w.:-]+ = |# (?i:sent|sentence|doc|document|paragraph) \d+\s*$"
)
NUMBER = re.compile(r"(?P<word>\d+)|\d+-\d+|\d+\.\d+")  # of a word, of several (1-2), of one left unsaid (3.1)
UNIVERSAL = 10  # columns of CoNLL-U (Universal Dependencies), with FORM, UPOS and, last, MISC
FORM, UPOS, MISC = 1, 3, 9
CONLL = (".conll", ".conllu", ".bio", ".iob", ".iob2")
WORDS, TAGS = "tokens", "ner_tags"  # usual columns of rows that list words and labels, those of the hub
TEXT_WORDS = 4  # in a cell of a text; a word has fewer parts with blanks between them, in Vietnamese for example
UNSPACED_TEXT = re.compile(rf"[{UNSPACED}]{{8}}")  # longer than a word
DECIMAL = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")  # a probability
HEADING = re.compile(
    r"(?:# ?)?(?:words?|tokens?|form)\t(?:pos|upos|xpos|ner|labels?|(?:pos|ner)?[ _-]?tags?)", re.IGNORECASE
)
EMPTY = frozenset("_-*")  # what CoNLL formats write where a column holds nothing
PEEK = 10_000  # lines that tell how a file is laid out
LAYOUT = "each line holds a word and its label, with a tab or a blank between them, and a blank line ends a sentence"


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
    are left out. Where the first column numbers the words, as in Universal Dependencies (CoNLL-U), so are ranges (1-2)
    and words left unsaid (3.1). Labels are BIO or BIOES, which IOB1, IO, BMES and BILOU become, or plain (DET); names
    may also be labelled PER-B, B_PER, or B alone. A sentence's id is the number of its first line.

    InputError names the line where something is wrong; with `skipped` such a sentence is left out and counted, and so
    is one with a label that it does not want. It is also raised where the word column holds the numbers of the words,
    or the label column holds nothing.
    """
    path, tags, seen = path if isinstance(path, Path) else Path(path), Tags(), set[str]()
    sentences = _sentences(path, encoding)
    first = _first(sentences)
    _check_columns(first, word_column, label_column if labelled else None, str(path))
    labels = _labels(first, label_column) if labelled else []
    if labels and all(map(DECIMAL.fullmatch, labels)):
        raise InputError(
            f"{path}: column {label_column} holds numbers such as {labels[0]}, no labels; see --label-column"
        )
    if labels:
        _check_heading(first[0], word_column, label_column, path)
    tags.decide(labels)

    def read(lines: Sequence[Line]) -> TokenExample:
        rows = _of_words(_rows(lines, str(path)), word_column)
        words = [check_word(_cell(row, word_column, "--text-column", where), where) for where, row in rows]
        if not labelled:
            return TokenExample(str(lines[0][0]), tuple(words))
        cells = [(_cell(row, label_column, "--label-column", where), where) for where, row in rows]
        (where, first), *_ = rows
        if len(first) == 1:
            raise InputError(f"{where}: one column, {first[0]!r:.40}; {LAYOUT}")
        if word_column % len(first) == label_column % len(first):
            raise InputError(f"{where}: column {word_column} cannot hold both words and labels; see --label-column")
        seen.update(label for label, _ in cells)
        return TokenExample(str(lines[0][0]), tuple(words), tags.read(cells))

    yield from wanted(usable(chain(first, sentences), read, skipped), skipped)
    if seen and seen <= EMPTY:
        marks = " and ".join(map(repr, sorted(seen)))
        raise InputError(f"{path}: column {label_column} holds no labels, only {marks}; see --label-column")


def wanted(examples: Iterator[TokenExample], skipped: Skipped | None) -> Iterator[TokenExample]:
    """Yield the sentences without those with an unwanted label, which are counted."""
    return (example for example in examples if skipped is None or skipped.wants(example.labels or ()))


def has_words(path: Path, columns: Columns, encoding: str = "utf-8") -> bool:
    """Return whether a file to predict has a word a line, or columns with one, and not texts: by the options or its
    ending, else by most of its first lines. Columns are separated by tabs, and none holds a text; or by blanks if their
    last cells look like labels: those of names, or few different ones of sentences with a blank line between them. JSON
    lines have words if the first one lists them."""
    if path.suffix.lower() in CONLL or columns.by_number:
        return True
    if path.suffix.lower() in JSON:
        first = next(read_records(path, encoding), None)
        return first is not None and isinstance(first.values.get(columns.text or WORDS), list)
    if path.suffix.lower() == ".csv" or columns.text is not None:
        return False
    with open_text(path, encoding) as file:
        beginning = list(islice(file, PEEK))
    lines = [line for line in beginning if not BREAK.fullmatch(line) and not line.startswith("# ")]
    check_prose("".join(lines[:1]), path, NAME_IT_JSON)
    if _most("\t" in line for line in lines):
        rows = [line.rstrip("\r\n").split("\t") for line in lines]
        return not (columns.name(rows[0]) or _most(any(map(_is_text, row)) for row in rows))
    rows = [BLANKS.split(line.strip(" \t\r\n")) for line in lines]
    if _most(len(row) == 1 for row in rows):
        return not _most(UNSPACED_TEXT.search(line) for line in lines)
    last = [row[-1] for row in rows]
    few = 2 * len({*last}) <= len(last) and len({len(row) for row in rows}) == 1
    return (
        not rows
        or (few and any(map(BREAK.fullmatch, beginning[1:-1])))
        or _most(ENTITY.fullmatch(label) for label in last)
    )


def _is_text(cell: str) -> bool:
    return len(cell.split()) >= TEXT_WORDS


def _most(found: Iterable[object]) -> bool:
    truths = [bool(one) for one in found]
    return 2 * sum(truths) > len(truths)


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


def _first(sentences: Iterator[list[Line]]) -> list[list[Line]]:
    """Take the first sentences, of PEEK lines or few more."""
    first, count = list[list[Line]](), 0
    while count < PEEK and (lines := next(sentences, None)):
        first.append(lines)
        count += len(lines)
    return first


def _without_comments(lines: list[Line]) -> list[Line]:
    """Return the sentence without the lines "# ..." before it, unless "#" is its first word: then it has columns."""
    width = len(_split(lines[-1][1], lines))
    for number, (_, line) in enumerate(lines):
        cells = _split(line, lines)
        has_columns = (number < len(lines) - 1 and len(cells) == width) or cells == ["#", OUTSIDE]
        if not COMMENT.match(line) and (not line.startswith("# ") or has_columns):
            return lines[number:]
    return []


def _check_columns(sentences: Sequence[Sequence[Line]], word: int, label: int | None, path: str) -> None:
    """Raise InputError for a column of words that numbers them 1, 2, 3 ..., and for MISC of CoNLL-U as labels."""
    found = [[_split(line, lines) for _, line in lines] for lines in sentences]
    numbered = [rows for rows in found if (words := _numbered(rows)) and words == list(range(1, len(words) + 1))]
    if 2 * len(numbered) <= len(found) or max(len(rows) for rows in numbered) < 2:
        return
    width = len(numbered[0][0])
    if width > 1 and word % width == 0:
        columns = f"--text-column {FORM}" + f" --label-column {UPOS}" * (width == UNIVERSAL and label is not None)
        raise InputError(f"{path}: column 0 numbers the words of each sentence; the words are in another: {columns}")
    if width == UNIVERSAL and label is not None and label % width == MISC:
        raise InputError(f"{path}: the last column of Universal Dependencies holds no labels: --label-column {UPOS}")


def _check_heading(lines: Sequence[Line], word: int, label: int, path: Path) -> None:
    """Raise InputError where the first line names the columns: it would be learned as a word and its label."""
    number, line = lines[0]
    row = _split(line, lines)
    cells = [row[column] for column in (word, label) if -len(row) <= column < len(row)]
    if HEADING.fullmatch("\t".join(cells)):
        raise InputError(f"{path}, line {number}: {' and '.join(map(repr, cells))} name the columns: delete the line")


def _numbered(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the numbers of the words where the first column numbers them; else nothing."""
    found = [NUMBER.fullmatch(row[0]) for row in rows]
    return [int(match["word"]) for match in found if match and match["word"]] if all(found) else []


def _labels(sentences: Iterable[Sequence[Line]], column: int) -> list[str]:
    """Return the labels of these sentences, each once, in their order; of lines that have them."""
    rows = (_split(line, lines) for lines in sentences for _, line in lines)
    return list(dict.fromkeys(row[column] for row in rows if -len(row) <= column < len(row)))


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
            begins = f"{width} where the sentence begins, line {lines[0][0]}"
            raise InputError(f"{where}: {len(row)} columns, but {begins}; {LAYOUT}")
    return rows


def _of_words(rows: list[tuple[str, list[str]]], word: int) -> list[tuple[str, list[str]]]:
    """Return the rows without ranges and words left unsaid, where the first column numbers the words."""
    if word % len(rows[0][1]) and _numbered([row for _, row in rows]):
        return [(where, row) for where, row in rows if row[0].isdecimal()]
    return rows


def _cell(row: list[str], column: int, option: str, where: str) -> str:
    if not -len(row) <= column < len(row):
        raise InputError(f"{where}: there is no column {column}, only {len(row)} counted from 0; see {option}")
    return row[column]


def check_word(word: object, where: str) -> str:
    """Return the word, if it is one; it may be an unusual blank, as in tweets, but none that would divide the lines and
    columns of a CoNLL file."""
    if not isinstance(word, str) or not word or set("\0\t\n\r") & {*word}:
        raise InputError(f"{where}: {word!r:.40} is no word")
    return word


@dataclass
class Tags:
    """The labels of one file: all mark names, in one `spelling`, or all are plain (DET). The first ones decide."""

    spelling: Spelling | None = None
    decided: bool = False

    def decide(self, labels: Iterable[str]) -> None:
        """See from the first labels of a file what all must be like; nothing can be seen where none is but O."""
        first = [label for label in labels if label not in ("", OUTSIDE)]
        if first and not self.decided:
            self.decided = True
            self.spelling = spelling_of(first) or (USUAL if PREFIX.match(first[0]) else None)

    def read(self, cells: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Return the labels of a sentence in the usual spelling, given as (label, its file and line in words).
        InputError: one is none."""
        labels = [label for label, _ in cells]
        self.decide(labels)
        for label, where in cells:
            if self.spelling is None and BRACKETS.fullmatch(label):
                raise InputError(f"{where}: {label!r} marks names by brackets: write O, B-x and I-x")
            if not self._fits(label):
                kinds = "all are plain (DET), or all are O, B-x, I-x, M-x, E-x or S-x"
                raise InputError(f"{where}: {label!r} is no label: {kinds}; see --label-column")
        return as_bio(labels, self.spelling) if self.spelling else tuple(labels)

    def _fits(self, label: str) -> bool:
        if self.spelling:
            return label.upper() == OUTSIDE or bool(self.spelling.fullmatch(label))
        return bool(label) and not PREFIX.match(label)
