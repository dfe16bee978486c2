"""Running text out of books and encyclopedia articles: without their heads, contents, headings, lists and notes."""

import re
from collections.abc import Iterable, Iterator
from html import unescape

from bertlab.corpora.documents import HEADING, ITALICS
from bertlab.corpora.sentences import Heading, split_sentences

PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
BRACKETED = re.compile(
    r"\[(?:illustration|footnote|transcriber|sidenote|page|pg|note)\b[^\[\]]*(?:\]|\Z)|\[\d+\]", re.IGNORECASE
)
# What the volunteers of Project Gutenberg, and publishers, say of the book.
NOT_THE_BOOK = re.compile(
    r"gutenberg|\be-?(?:text|book)s?\b|\btranscriber['’]?s|proofread|pgdp|https?:|www\.|copyright|all rights reserved"
    r"|typographical|\bisbn\b|\berrat(?:a|um)\b|\bascii\b|\A\W*(?:produced|prepared|scanned|transcribed)\b",
    re.IGNORECASE,
)
ENDS = re.compile(r"""[.!?…:;,—–-][\])}"'”’»*]*\Z""")  # as a paragraph does that is no heading and no list
FREQUENT = frozenset("the and of to a in i you he she it is was".split())
HEAD_PARAGRAPHS = 60  # so many, at most, before the text of a book begins
BEGINNING_WORDS = 30  # a paragraph of so many words is its beginning


def book_parts(text: str) -> Iterator[Heading | list[str]]:
    """Yield headings and paragraphs (each its sentences) of a book from its first long paragraph on."""
    paragraphs = [paragraph.strip() for paragraph in PARAGRAPHS.split(ITALICS.sub(r"\1", text))]
    paragraphs = [BRACKETED.sub("", paragraph).strip() for paragraph in paragraphs]
    for paragraph in paragraphs[_beginning(paragraphs) :]:
        if _is_heading(paragraph):
            yield Heading(" ".join(paragraph.split()))
        elif _is_prose(paragraph):
            yield split_sentences(paragraph)


def _beginning(paragraphs: list[str]) -> int:
    """Number of the first long paragraph of running text, or of the one after a head that goes on and on."""
    for number, paragraph in enumerate(paragraphs[:HEAD_PARAGRAPHS]):
        if len(paragraph.split()) >= BEGINNING_WORDS and _is_prose(paragraph) and not _is_heading(paragraph):
            return number
    return HEAD_PARAGRAPHS if len(paragraphs) > HEAD_PARAGRAPHS else 0


def _is_heading(paragraph: str) -> bool:
    """Whether it is "Chapter 1", or a few words in capitals."""
    words = paragraph.split()
    return 0 < len(words) <= 20 and bool(HEADING.fullmatch(paragraph) or (paragraph.isupper() and '"' not in paragraph))


def _is_prose(paragraph: str) -> bool:
    """Whether it ends as sentences do, is English, and tells of the story instead of the edition."""
    words = paragraph.lower().split()
    if not words or not ENDS.search(paragraph) or NOT_THE_BOOK.search(paragraph):
        return False
    return len(words) < 12 or not FREQUENT.isdisjoint(words)


# Encyclopedia: WikiExtractor's output, in which a heading is a line of its own and ends with a full stop.
EMPTY_BRACKETS = re.compile(r" ?\([\s;,:]*\)")  # of pronunciations and other scripts, which were taken out
FIRST_IN_BRACKETS = re.compile(r"\((?:[;,:]\s*)+")
LOST = re.compile(r"\s[.,;]|\(\s|[|{}<>]|\bscope=|\(\)")  # a word was lost here, or is a mark of a table
HEADING_WORDS, SENTENCE_WORDS = 6, 3  # at most, at least


def article_sentences(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the sentences of each paragraph; headings, items of lists and sentences with a lost word are left out."""
    for line in lines:
        text = FIRST_IN_BRACKETS.sub("(", EMPTY_BRACKETS.sub("", unescape(line.strip())))
        if len(text.split()) > HEADING_WORDS and text[-1] in ".!?\"”'":
            yield [sentence for sentence in split_sentences(text) if _is_whole(sentence)]


def _is_whole(sentence: str) -> bool:
    first = sentence[0]
    starts = first.isupper() or first.isdigit() or first in "\"“'‘$£€"
    return starts and len(sentence.split()) >= SENTENCE_WORDS and not LOST.search(sentence)
