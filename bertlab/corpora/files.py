"""The field's file formats: plain text and novels as documents of sentences, SQuAD as examples."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bertlab.corpora.examples import Document, QAExample
from bertlab.errors import InputError

DOCUMENT_SENTENCES = 50  # a longer run of paragraphs is cut, so that one novel is many documents

# A full stop after these ends no sentence (or too seldom to count on it).
ABBREVIATIONS = frozenset(
    "mr mrs ms messrs mme mlle dr st rev hon prof gen col capt lieut lt sgt maj sen gov esq jr sr "
    "vs viz cf e.g i.e vol vols fig figs p pp eds approx "
    "jan feb apr aug sept oct nov dec mt ft ltd corp dept univ".split()
)
# Western: stops and closing quotes, a space, then something that can open a sentence. Chinese and
# Japanese: stops and closing quotes alone.
BOUNDARY = re.compile(
    r"""(?<=\S)(?P<stop>[.!?…]+)[)\]"'”’»_]*\s+(?=[(\["'“‘«_]*(?P<next>[^\W_]))|[。！？]+[」』”’]*\s*"""
)
LAST_WORD = re.compile(r"[^\s(\[\"'“‘«—-]*\Z")
HEADING = re.compile(
    r"(?:chapter|book|part|volume|act|scene|letter|stave|canto)\s+[\divxlc]+\b.{0,80}"
    r"|[\divxlc]+\.?"  # a bare number
    r"|=+ .+ =+",  # Wikipedia's
    re.IGNORECASE,
)
GUTENBERG = re.compile(r"\*\*\* ?START OF.*?\*\*\*(.*?)\*\*\* ?END OF", re.DOTALL)
ITALICS = re.compile(r"(?<!\w)_([^_]+)_(?!\w)")  # as Project Gutenberg marks them


def split_sentences(text: str) -> list[str]:
    """Sentences of one paragraph, spaces and line breaks within them made single spaces.

    Not cut: after abbreviations and initials ("Mr. J. R. Smith"), before a small letter ("No!" he said).
    """
    sentences, start = [], 0
    for boundary in BOUNDARY.finditer(text):
        if boundary["stop"] and not _ends_sentence(text[start : boundary.start()], boundary):
            continue
        sentences.append(text[start : boundary.end()])
        start = boundary.end()
    sentences.append(text[start:])
    return [" ".join(sentence.split()) for sentence in sentences if sentence.strip()]


def _ends_sentence(before: str, boundary: re.Match) -> bool:
    if boundary["next"].islower():
        return False
    if boundary["stop"] != ".":
        return True
    word = LAST_WORD.search(before)[0]
    if word.lower() == "no" and boundary["next"].isdigit():
        return False
    initial = re.fullmatch(r"(?:\w\.)*[^\W\d_]", word) and word != "I"
    return not initial and word.lower() not in ABBREVIATIONS


def read_documents(paths: str | Path | Iterable[str | Path]) -> Iterator[Document]:
    """Documents of plain text files (UTF-8), or of all `*.txt` files of a folder.

    A chapter heading starts a new document, and so does the paragraph after 50 sentences: one novel gives
    many, which next-sentence prediction needs. Headings and Project Gutenberg's own words are left out.
    InputError names a file that is missing, is not UTF-8 or holds no text.
    """
    paths = [paths] if isinstance(paths, str | Path) else paths
    for path in map(Path, paths):
        files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
        if not files:
            raise InputError(f"{path}: the folder holds no .txt file")
        for file in files:
            yield from _documents(file)


class Heading(str):
    """A line that begins a document, among the paragraphs of a text."""


def _documents(path: Path) -> Iterator[Document]:
    empty = True
    for document in assemble(path.stem, _novel(read_text(path))):
        empty = False
        yield document
    if empty:
        raise InputError(f"{path}: the file holds no text")


def _novel(text: str) -> Iterator[Heading | list[str]]:
    book = GUTENBERG.search(text)
    for paragraph in re.split(r"\n\s*\n", ITALICS.sub(r"\1", book[1] if book else text)):
        paragraph = paragraph.strip()
        yield Heading(paragraph) if HEADING.fullmatch(paragraph) else split_sentences(paragraph)


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
