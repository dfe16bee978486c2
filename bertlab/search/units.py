"""What is searched: the functions of the installed packages, or the paragraphs of text files."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from pathlib import Path

from bertlab.corpora.documents import SUFFIXES, text_files
from bertlab.corpora.functions import Function, read_functions
from bertlab.corpora.letters import words
from bertlab.corpora.pydoc import installed, python_files
from bertlab.corpora.reading import read_beginning, read_text
from bertlab.corpora.sentences import split_sentences
from bertlab.errors import InputError
from bertlab.search.cache import cached

PYDOC = "pydoc"
LEAST_WORDS = 3  # of a paragraph
LONGEST = 1500  # characters of a unit that are searched; a model reads fewer


@dataclass(frozen=True)
class Unit:
    """One thing to find. `name`: a qualified name with its parameters in `detail`, or file:line; `sentence` is shown;
    `text` is what is searched."""

    name: str
    detail: str
    sentence: str
    text: str


def read_units(corpus: Sequence[str | Path], *, progress: bool = False) -> list[Unit]:
    """Return the units of a corpus: files and folders of text (.txt, .md), a paragraph each; or, unless a file has that
    name, "pydoc", the functions of the installed packages, read again only after one has changed.

    InputError names what is missing or holds nothing.
    """
    if not corpus:
        raise InputError("name a corpus: pydoc, or files and folders of text (.txt, .md)")
    files = {source: [] if _is_pydoc(source) else _files(source) for source in map(Path, corpus)}
    for file in chain.from_iterable(files.values()):
        read_beginning(file)
    found: list[Unit] = []
    for source in map(Path, corpus):
        if _is_pydoc(source):
            found += _pydoc(lambda: read_functions(progress=progress))
        else:
            found += [unit for file in files[source] for unit in paragraphs(file)]
    if not found:
        raise InputError(f"{', '.join(map(str, corpus))}: holds no paragraph of at least {LEAST_WORDS} words")
    return found


def _is_pydoc(source: Path) -> bool:
    return str(source) == PYDOC and not source.exists()


def function_unit(function: Function) -> Unit:
    """Return a function as a unit: the words of its name, and its docstring up to the list of parameters."""
    text = f"{function.words}. {function.description}"
    return Unit(function.name, function.signature, function.first_sentence, text[:LONGEST])


def paragraphs(path: Path) -> Iterator[Unit]:
    """Yield the paragraphs of a text file, each named by the line where it begins."""
    lines: list[str] = []
    for number, line in enumerate([*read_text(path, option=False).split("\n"), ""], start=1):
        if line.strip():
            lines.append(line.strip())
            continue
        text = " ".join(lines)
        if max(len(text.split()), len(words(text))) >= LEAST_WORDS:
            yield Unit(f"{path}:{number - len(lines)}", "", split_sentences(text)[0], text[:LONGEST])
        lines = []


def _files(source: Path) -> list[Path]:
    if source.is_file() and source.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{source}: no text; a corpus is pydoc, or files and folders of {' and '.join(SUFFIXES)} files"
        )
    return text_files(source)


def _pydoc(read: Callable[[], Sequence[Function]]) -> list[Unit]:
    """Return the units of the installed packages: kept ones, if no Python file has changed since."""
    digest = hashlib.sha256(repr([field.name for field in fields(Unit)]).encode())
    files = [(name, path) for name, path in python_files(installed()) if path.is_file()]  # not a dangling link
    for name, path in files:
        facts = path.stat()
        digest.update(f"{name} {facts.st_size} {facts.st_mtime_ns}\n".encode())

    def made() -> bytes:
        return "\n".join(json.dumps(asdict(function_unit(function))) for function in read()).encode()

    def opened(content: bytes) -> list[Unit]:
        return [Unit(**json.loads(line)) for line in content.splitlines()]

    return cached("pydoc-units.jsonl", digest.hexdigest(), made, opened)
