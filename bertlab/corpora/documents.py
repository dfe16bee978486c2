"""Documents of sentences: from plain text, novels and Markdown, or from a text that is always at hand."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bertlab.corpora import storyworld
from bertlab.corpora.examples import Document
from bertlab.corpora.markdown import blocks
from bertlab.corpora.pydoc import read_docstrings
from bertlab.corpora.reading import check_prose, read_beginning, read_text
from bertlab.corpora.sentences import Heading, split_sentences
from bertlab.errors import InputError

SUFFIXES = (".txt", ".md")  # in any case
TABLES = (".csv", ".tsv")
DOCUMENT_SENTENCES = 50  # a longer run of paragraphs is cut, so that one novel is many documents

HEADING = re.compile(
    r"(?:chapter|book|part|volume|act|scene|letter|stave|canto)\s+(?!(?-i:I [a-z]).*[.!?]\Z)[\divxlc]+\b.{0,80}"
    r"|[\divxlc]+\.?"  # a bare number
    r"|=+ .+ =+",  # Wikipedia's
    re.IGNORECASE,
)
GUTENBERG = re.compile(r"\*\*\* ?START OF.*?\*\*\*(.*?)\*\*\* ?END OF", re.DOTALL)
ITALICS = re.compile(r"(?<!\w)_([^_]+)_(?!\w)")  # as Project Gutenberg marks them


def read_documents(paths: str | Path | Iterable[str | Path]) -> Iterator[Document]:
    """Yield the documents of text and Markdown files (UTF-8), or of the `text_files` of a folder.

    A heading starts a new document, and so does the paragraph after 50 sentences: one novel gives many documents, which
    next-sentence prediction needs. Headings and Project Gutenberg's own words are left out, and of Markdown (.md)
    everything but running text. InputError names a file that is missing, is not UTF-8, is a table, or holds no text or
    JSON.
    """
    paths = [paths] if isinstance(paths, str | Path) else paths
    for path in map(Path, paths):
        for file in text_files(path):
            yield from _documents(file)


def text_files(path: Path) -> list[Path]:
    """Return the text and Markdown files of a folder and its subfolders, sorted, without hidden ones and vocab.txt; or
    the file itself. InputError: the folder holds none, or the file is a table."""
    if not path.is_dir():
        if path.suffix.lower() in TABLES:
            raise InputError(f"{path}: a table, not running text: write its texts to a .txt file")
        return [path]
    files = sorted(file for file in path.rglob("*") if _is_text(file, path))
    if not files:
        raise InputError(f"{path}: the folder holds no {' or '.join(SUFFIXES)} file")
    return files


def _is_text(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.suffix.lower() in SUFFIXES and file.name != "vocab.txt" and not hidden and file.is_file()


def _documents(path: Path) -> Iterator[Document]:
    empty = True
    read = _markdown if path.suffix.lower() == ".md" else _novel
    text = read_text(path, option=False)
    check_prose(text, path)
    for document in assemble(path.stem, read(text)):
        empty = False
        yield document
    if empty:
        raise InputError(f"{path}: the file holds no text")


def _novel(text: str) -> Iterator[Heading | list[str]]:
    books = GUTENBERG.findall(text) or [text]  # a file may join several
    for paragraph in re.split(r"\n\s*\n", ITALICS.sub(r"\1", "\n\n".join(books))):
        paragraph = paragraph.strip()
        yield Heading(paragraph.strip("= ")) if HEADING.fullmatch(paragraph) else split_sentences(paragraph)


def _markdown(text: str) -> Iterator[Heading | list[str]]:
    for block in blocks(text):
        yield block if isinstance(block, Heading) else split_sentences(block)


def assemble(title: str, parts: Iterable[Heading | list[str]], genre: str = "") -> Iterator[Document]:
    """Yield documents from headings and paragraphs (lists of sentences) in their order.

    A heading starts a new document, named after it, and so does the paragraph after 50 sentences.
    """
    name, sentences = title, list[str]()
    for part in parts:
        heading = isinstance(part, Heading)
        if sentences and (heading or len(sentences) >= DOCUMENT_SENTENCES):
            yield Document(tuple(sentences), name, genre)
            sentences = []
        if heading:
            name = f"{title}: {part}"
        else:
            sentences += part
    if sentences:
        yield Document(tuple(sentences), name, genre)


STORYWORLD_DOCUMENTS = 20_000  # it has no end
AT_HAND = (Path("pydoc"), Path("storyworld"))  # text that needs no file, unless one has that name


def check_sources(paths: Iterable[Path]) -> None:
    """Open each of the files that `read_sources` reads, and read its beginning. InputError, as there, for the first one
    that is missing, cannot be read or is no text."""
    for path in paths:
        if path in AT_HAND and not path.exists():
            continue
        for file in text_files(path):
            check_prose(read_beginning(file), file)


def read_sources(paths: Iterable[Path]) -> Iterator[Document]:
    """Yield the documents of files and folders, one file at a time.

    Unless a file has that name, pydoc means the docstrings of Python and all installed packages, and storyworld its
    first 20,000 documents with seed 0.
    """
    for path in paths:
        if path == Path("pydoc") and not path.exists():
            yield from read_docstrings(progress=True)
        elif path == Path("storyworld") and not path.exists():
            yield from storyworld.documents(0, STORYWORLD_DOCUMENTS)
        else:
            yield from read_documents(path)
