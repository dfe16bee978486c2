"""What a text is called on the command line: a file, a folder, or the name of a text that is always there."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from bertlab.corpora import storyworld
from bertlab.corpora.examples import Document
from bertlab.corpora.files import read_documents
from bertlab.corpora.pydoc import read_docstrings

STORYWORLD_DOCUMENTS = 20_000  # it has no end


def read_sources(paths: Iterable[Path]) -> Iterator[Document]:
    """The documents of files and folders, one file at a time.

    Where no file has that name, pydoc stands for the docstrings of Python and of all installed packages, storyworld
    for 20,000 documents of it with seed 0.
    """
    for path in paths:
        if path == Path("pydoc") and not path.exists():
            yield from read_docstrings(progress=True)
        elif path == Path("storyworld") and not path.exists():
            yield from storyworld.documents(0, STORYWORLD_DOCUMENTS)
        else:
            yield from read_documents(path)
