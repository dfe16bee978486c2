"""The field's file formats: plain text, novels and Markdown as documents of sentences, SQuAD as examples."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bertlab.corpora.examples import Document, QAExample
from bertlab.corpora.markdown import blocks
from bertlab.corpora.sentences import Heading, split_sentences
from bertlab.errors import InputError

SUFFIXES = (".txt", ".md")
DOCUMENT_SENTENCES = 50  # a longer run of paragraphs is cut, so that one novel is many documents

HEADING = re.compile(
    r"(?:chapter|book|part|volume|act|scene|letter|stave|canto)\s+[\divxlc]+\b.{0,80}"
    r"|[\divxlc]+\.?"  # a bare number
    r"|=+ .+ =+",  # Wikipedia's
    re.IGNORECASE,
)
GUTENBERG = re.compile(r"\*\*\* ?START OF.*?\*\*\*(.*?)\*\*\* ?END OF", re.DOTALL)
ITALICS = re.compile(r"(?<!\w)_([^_]+)_(?!\w)")  # as Project Gutenberg marks them


def read_documents(paths: str | Path | Iterable[str | Path]) -> Iterator[Document]:
    """Documents of text and Markdown files (UTF-8), or of all `*.txt` and `*.md` files of a folder.

    A heading starts a new document, and so does the paragraph after 50 sentences: one novel gives many, which
    next-sentence prediction needs. Left out are headings, Project Gutenberg's own words, and of Markdown (files
    ending in .md) whatever is no running text.
    InputError names a file that is missing, is not UTF-8 or holds no text.
    """
    paths = [paths] if isinstance(paths, str | Path) else paths
    for path in map(Path, paths):
        files = sorted(f for f in path.glob("*") if f.suffix in SUFFIXES) if path.is_dir() else [path]
        if not files:
            raise InputError(f"{path}: the folder holds no .txt or .md file")
        for file in files:
            yield from _documents(file)


def _documents(path: Path) -> Iterator[Document]:
    empty = True
    read = _markdown if path.suffix == ".md" else _novel
    for document in assemble(path.stem, read(read_text(path))):
        empty = False
        yield document
    if empty:
        raise InputError(f"{path}: the file holds no text")


def _novel(text: str) -> Iterator[Heading | list[str]]:
    book = GUTENBERG.search(text)
    for paragraph in re.split(r"\n\s*\n", ITALICS.sub(r"\1", book[1] if book else text)):
        paragraph = paragraph.strip()
        yield Heading(paragraph) if HEADING.fullmatch(paragraph) else split_sentences(paragraph)


def _markdown(text: str) -> Iterator[Heading | list[str]]:
    for block in blocks(text):
        yield block if isinstance(block, Heading) else split_sentences(block)


def assemble(title: str, parts: Iterable[Heading | list[str]], genre: str = "") -> Iterator[Document]:
    """Documents from headings and paragraphs (each its sentences) in their order.

    A heading starts a new document, named after it, and so does the paragraph after 50 sentences.
    """
    name, sentences = title, []
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


def read_text(path: Path) -> str:
    """The text of a UTF-8 file; InputError names a file that cannot be read or is something else."""
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8 first") from error


def read_squad(path: str | Path) -> Iterator[QAExample]:
    """Questions of a SQuAD 1.1 or 2.0 JSON file, each with its first answer, in file order.

    InputError names the file and the article, paragraph and question where something is wrong.
    """
    path = Path(path)
    try:
        articles = json.loads(read_text(path))["data"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(f'{path}: no SQuAD file (JSON with a list "data"): {error}') from error
    for where, paragraph in _paragraphs(path, articles):
        context = _field(paragraph, "context", str, where)
        for number, question in enumerate(_field(paragraph, "qas", list, where), start=1):
            yield _question(question, context, f"{where}, question {number}")


def _paragraphs(path: Path, articles: list) -> Iterator[tuple[str, dict]]:
    """(where it stands in words, paragraph) for each paragraph of each article."""
    articles = _field({"data": articles}, "data", list, str(path))
    for a, article in enumerate(articles, start=1):
        where = f"{path}: article {a}"
        for p, paragraph in enumerate(_field(article, "paragraphs", list, where), start=1):
            yield f"{where}, paragraph {p}", paragraph


def _question(entry: dict, context: str, where: str) -> QAExample:
    identity = str(_field(entry, "id", str | int, where))
    where = f"{where} (id {identity})"
    question = _field(entry, "question", str, where)
    if entry.get("is_impossible") or not _field(entry, "answers", list, where):
        return QAExample(identity, question, context, "", -1)
    first = entry["answers"][0]
    answer, start = _field(first, "text", str, where), _field(first, "answer_start", int, where)
    if not answer or start < 0 or not context.startswith(answer, start):
        found = context.find(answer) if answer else -1
        hint = f" (it stands at {found})" if found >= 0 else ""
        raise InputError(f"{where}: the answer {answer!r} is not at character {start} of its context{hint}")
    return QAExample(identity, question, context, answer, start)


def _field(entry: dict, name: str, kind, where: str):
    if not isinstance(entry, dict) or not isinstance(entry.get(name), kind):
        raise InputError(f'{where}: "{name}" is missing or of the wrong type')
    return entry[name]
