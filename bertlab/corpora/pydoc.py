"""English that is already on every machine: the docstrings of Python and of the installed packages.

They are read with `ast`; nothing is imported. Of a docstring only the prose is kept: `prose` says what that is.
"""

import ast
import os
import re
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from tqdm import tqdm

from bertlab.corpora.examples import Document
from bertlab.corpora.sentences import split_sentences
from bertlab.errors import InputError
from bertlab.io.files import read_bytes

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NO_MODULES = ("site-packages", "dist-packages", "__pycache__")  # folders below one of modules that belong to none of it

# Sections that list names, types or code, in the styles of NumPy (underlined) and Google (ending in a colon).
LISTING = re.compile(
    r"(?:other |keyword )?(?:parameters|params|args|arguments|attributes|methods|fields|properties|inputs?|outputs?)"
    r"|returns?|yields?|receives|raises|warns|see also|examples?(?: usage)?|usage|references|shapes?|routines|options",
    re.IGNORECASE,
)
UNDERLINE = re.compile(r"([-=~^*#])\1{2,}")

# A paragraph with such a line is no prose: each alternative is one kind.
NO_PROSE = re.compile(
    r"""^(?:
        >>>|\.\.\.\s|In\s\[|\$\s|%\s      # a session of Python, IPython or a shell
        | [-*+•]\s | \(?(?:\d+|[a-zA-Z])[.)]\s | \[\w+\]   # items of a list, footnotes
        | [:@]\w[^:]*: | @\w | \.\.\s     # fields and directives
        | \*{0,2}\w+\*{0,2}\s*(?:\([^)]*\))?\s*:(?:\s|$)   # name: description, name : type
        | [\w.]+\s*\([^)]*\)?\s*(?:->|$|\#|:|,$)           # a signature
        | (?:from|import|def|class|return|for|if|with)\s.*[:(=]$ | [\w.]+\s*=
        | .*(?:\s\|\s|\|$|={3}|-{3}|\+-|\s{3}\S)           # tables and columns
    )""",
    re.MULTILINE | re.VERBOSE,
)
MARKUP = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r"(?::[\w:+.-]+:)?`([^`<>]+?)\s*<[^`<>]*>`_{0,2}", r"\1"),  # :role:`text <target>`
        (r":[\w:+.-]+:`[!~]?([^`]+)`", r"\1"),  # :role:`text`
        (r"\[([^\]\[]+)\]\((?:https?:|#)[^)\s]*\)", r"\1"),  # [text](address)
        (r"`{1,3}([^`]+)`{1,3}_{0,2}", r"\1"),
        (r"(?<![\w*])(\*{1,2})(?=\S)([^*]+)(?<=\S)\1(?![\w*])", r"\2"),
        (r"\s\[\d+\]_|::(?=\s|$)", ""),  # a reference to a footnote; the mark before a block of code
    ]
]
WORD = re.compile(r"""["'(“‘]*[A-Za-z]+(?:['’-][A-Za-z]+)*["')”’]*[,.;:!?]*["')”’]*""")
LEAST_WORDS, WORD_SHARE = 4, 0.8  # of a sentence: fewer, or more names and symbols among them, is no prose


def read_docstrings(folders: Iterable[str | Path] | None = None, *, progress: bool = False) -> Iterator[Document]:
    """Yield a Document for each module below `folders` whose docstrings hold prose; by default the standard library
    and all installed packages.

    Sentences of an earlier module are left out, files that are not Python are skipped. The same files give the same
    documents in the same order.
    """
    return _documents(python_files(installed() if folders is None else folders), progress)


def installed() -> list[Path]:
    """Return the folders of the standard library and of the packages of this environment."""
    return list(dict.fromkeys(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")))


def python_files(folders: Iterable[str | Path]) -> list[tuple[str, Path]]:
    """Return (module, file) of all Python files below `folders`, sorted by name; packages inside the standard library's
    folder need naming theirs. InputError: there is no such folder."""
    found: dict[str, Path] = {}
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder")
        for place, subfolders, files in os.walk(folder):
            subfolders[:] = (name for name in subfolders if name not in NO_MODULES)  # these are not entered
            parts = Path(place).relative_to(folder).parts
            for name in files:
                if name.endswith(".py"):
                    module = ".".join((*parts, name.removesuffix(".py")))
                    found.setdefault(module.removesuffix(".__init__"), Path(place, name))
    return sorted(found.items())


def _documents(modules: list[tuple[str, Path]], progress: bool) -> Iterator[Document]:
    seen: set[str] = set()
    for name, path in tqdm(modules, "docstrings", unit=" modules", disable=not progress, leave=False):
        sentences = [sentence for docstring in docstrings(path) for sentence in prose(docstring)]
        new = [s for s in dict.fromkeys(sentences) if s.lower() not in seen]
        seen.update(sentence.lower() for sentence in new)
        if new:
            yield Document(tuple(new), name, "docstrings")


def parsed(path: Path) -> ast.Module | None:
    """Return the syntax tree of a file; None if it is unreadable or not Python of this version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other people's escapes
            return ast.parse(read_bytes(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def docstrings(path: Path) -> list[str]:
    """Return the docstrings of a file from top to bottom; none if it is unreadable or not Python of this version."""
    tree = parsed(path) if _may_have_docstrings(path) else None
    if tree is None:
        return []
    documented = (node for node in ast.walk(tree) if isinstance(node, DOCUMENTED))
    in_order = sorted(documented, key=lambda node: getattr(node, "lineno", 0))  # a module has no line
    return list(filter(None, map(ast.get_docstring, in_order)))


def _may_have_docstrings(path: Path) -> bool:
    try:
        source = read_bytes(path)
    except InputError:
        return False
    return b'"""' in source or b"'''" in source


def prose(docstring: str) -> list[str]:
    """Return the sentences of a docstring's running text.

    Left out: sections that list parameters and the like, whatever is indented, sessions, code, tables, lists,
    fields, signatures; then sentences of few words, without an end, or made of names and symbols.
    """
    paragraphs = (plain(paragraph) for paragraph in _paragraphs(docstring) if not NO_PROSE.search(paragraph))
    return [sentence for text in paragraphs for sentence in split_sentences(text) if _reads_as_text(sentence)]


def _paragraphs(docstring: str) -> Iterator[str]:
    """Yield the paragraphs that are not indented and not in a listing section."""
    listing = False
    for block in re.split(r"\n\s*\n", docstring.strip()):
        lines = block.split("\n")
        title = lines[0].strip().rstrip(":")
        underlined = len(lines) > 1 and UNDERLINE.fullmatch(lines[1].strip())
        if underlined or (lines[0].endswith(":") and LISTING.fullmatch(title)):
            listing = bool(LISTING.fullmatch(title))
            lines = lines[2:] if underlined else lines[1:]
        if lines and not listing and not any(line[:1].isspace() for line in lines):
            yield "\n".join(lines)


def plain(text: str) -> str:
    """Return a paragraph of a docstring without its markup."""
    for pattern, replacement in MARKUP:
        text = pattern.sub(replacement, text)
    return text


def _reads_as_text(sentence: str) -> bool:
    words = sentence.split()
    ordinary = sum(bool(WORD.fullmatch(word)) for word in words)
    ended = sentence.rstrip("\"')”’").endswith((".", "!", "?"))
    return ended and sentence[0].isupper() and len(words) >= LEAST_WORDS and ordinary >= WORD_SHARE * len(words)
