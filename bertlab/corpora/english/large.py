"""Forty-eight million words more: fiction, articles of Wikipedia and film reviews, read from their archives.

Held out are whole authors, whole articles and whole reviews. The held-out texts of the small corpora stay as they are.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path

from bertlab.corpora.documents import assemble
from bertlab.corpora.english.archives import Member, read_members
from bertlab.corpora.english.cleaning import article_sentences, book_parts
from bertlab.corpora.english.small import read_english
from bertlab.corpora.english.sources import LARGE_SOURCES, SOURCES, Split, check
from bertlab.corpora.examples import Document
from bertlab.corpora.sentences import split_sentences

FICTION, REVIEWS, ARTICLES = LARGE_SOURCES
TEST_AUTHORS = frozenset({"potterbeatrix", "stokerbram"})
TEST_EACH = 100  # one article and one review in so many


def read_large(folder: str | Path, split: Split = "train", progress: bool = False) -> Iterator[Document]:
    """Yield the documents of the small corpora, then fiction, articles and reviews, each with its genre.

    InputError names a corpus that is not there, or is damaged. Overlap with texts to measure on is still in it:
    `bertlab.corpora.english.overlap` takes it out.
    """
    check(Path(folder), split, SOURCES + LARGE_SOURCES)
    yield from read_english(folder, split)
    for read in (_fiction, read_articles, _reviews):
        yield from read(Path(folder), split, progress)


def _fiction(folder: Path, split: Split, progress: bool) -> Iterator[Document]:
    for book in read_members(folder, FICTION, progress):
        author, _, name = book.path.partition("/")
        if (author in TEST_AUTHORS) == (split == "test"):
            title = f"{author}: {name.removesuffix('.txt')}"
            yield from assemble(title, book_parts("".join(book.lines()).replace("\r\n", "\n")), "fiction")


def read_articles(folder: Path, split: Split = "train", progress: bool = False) -> Iterator[Document]:
    """Yield the documents of wikipedia_2019 alone. InputError: it is not there, or is damaged."""
    check(folder, split, [ARTICLES])
    for member in read_members(folder, ARTICLES, progress):
        for title, *lines in _blocks(member):
            if _in_split(title, split):
                yield from assemble(f"Wikipedia: {title}", article_sentences(lines), "article")


def _reviews(folder: Path, split: Split, progress: bool) -> Iterator[Document]:
    """Reviews without a label, and those of the training set; never those of the test set."""
    for member in read_members(folder, REVIEWS, progress):
        for paragraphs in _paragraphs_of_reviews(member):
            if _in_split("\n".join(paragraphs), split):
                yield from assemble("IMDB", map(split_sentences, paragraphs), "review")


def _paragraphs_of_reviews(member: Member) -> Iterator[list[str]]:
    if member.path == "unlabelled.txt":
        yield from _blocks(member)
    elif member.path == "train.csv":
        yield from map(str.splitlines, member.texts())


def _blocks(member: Member) -> Iterator[list[str]]:
    """Yield the lines between blank lines."""
    block: list[str] = []
    for line in map(str.strip, member.lines()):
        if line:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _in_split(text: str, split: Split) -> bool:
    return (zlib.crc32(text.encode()) % TEST_EACH == 0) == (split == "test")
