"""Four million words of novels, Wikipedia, speech and everyday writing, and the held-out texts of these four genres."""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from bertlab.corpora.documents import assemble, read_documents
from bertlab.corpora.english.sources import SOURCES, Split, check
from bertlab.corpora.examples import Document
from bertlab.corpora.reading import read_text
from bertlab.corpora.sentences import Heading, detokenize, split_sentences
from bertlab.errors import InputError

# Whole books by authors of whom the collection holds nothing else.
TEST_NOVELS = frozenset(
    {
        "11_alices_adventures_in_wonderland",
        "105_persuasion",
        "550_silas_marner",
        "73_the_red_badge_of_courage_an_episode_of_the_american_civil_war",
    }
)
LEFT_OUT = frozenset({"email", "spam", "twitter"})  # headers, addresses and links more than sentences; private letters

HYPHEN = re.compile(r"(?<=_(?:JJ|NN|CD)) -_- (?=[a-z\d])")  # within a word: -_: is the dash
WIKI_HEADING = re.compile(r"(=(?: =)*) (.+?) \1")


def read_english(folder: str | Path, split: Split = "train") -> Iterator[Document]:
    """Documents of all corpora below `folder`, each with its genre: novel, wikipedia, spoken or written.

    "test" holds whole books, whole articles (WikiText-2's own test file) and whole documents that "train" never
    shows. InputError names a corpus that is not there.
    """
    check(Path(folder), split, SOURCES)
    for source, read in zip(SOURCES, (_novels, _wikipedia, _masc), strict=True):
        yield from read(Path(folder) / source.folder, split)


def _novels(folder: Path, split: Split) -> Iterator[Document]:
    books = [path for path in sorted(folder.glob("*.txt")) if (path.stem in TEST_NOVELS) == (split == "test")]
    books = [path for path in books if path.stem != "SOURCE"]
    if not books:
        wanted = f"held-out book ({', '.join(sorted(TEST_NOVELS))})" if split == "test" else "book, as NAME.txt,"
        raise InputError(f"{folder}: holds no {wanted}; see {SOURCES[0].address}")
    for document in read_documents(books):
        yield Document(document.sentences, document.title, "novel")


def _wikipedia(folder: Path, split: Split) -> Iterator[Document]:
    """Articles of the published test file, or of the other two as far as they are there.

    The raw file is read where there is one: in the other, rare words are <unk>.
    """
    for part in ("test",) if split == "test" else ("train", "valid"):
        files = [folder / f"{part}.raw.txt", folder / f"{part}.txt"]
        path = next((file for file in files if file.is_file()), None)
        if path:
            yield from assemble("Wikipedia", _articles(read_text(path, option=False)), "wikipedia")
        elif split == "test":  # what figures on WikiText-2 refer to
            raise InputError(f"{files[1]}: no such file ({SOURCES[1].address})")


def _articles(text: str) -> Iterator[Heading | list[str]]:
    """Titles of articles as headings, those within an article left out; sentences with a lost word left out."""
    for line in map(str.strip, text.splitlines()):
        heading = WIKI_HEADING.fullmatch(line)
        if heading and heading[1] == "=":
            yield Heading(detokenize(heading[2]))
        elif line and not heading:
            yield [sentence for sentence in split_sentences(detokenize(line)) if "<unk>" not in sentence]


def _masc(folder: Path, split: Split) -> Iterator[Document]:
    files = _by_kind(folder / "categories.txt")
    for kind in sorted(files.keys() - LEFT_OUT):
        by_hash = sorted(files[kind], key=lambda name: zlib.crc32(name.encode()))  # whatever the order of the list
        held_out = by_hash[: max(1, len(by_hash) // 10)]
        for name in files[kind]:
            if (name in held_out) == (split == "test"):
                path = folder / name
                yield from assemble(f"{kind}: {path.stem}", _untag(read_text(path, option=False)), path.parent.name)


def _by_kind(path: Path) -> dict[str, list[str]]:
    """Kind of text (blog, letters, telephone ...) -> files, as categories.txt has them."""
    files: dict[str, list[str]] = {}
    for number, line in enumerate(read_text(path, option=False).splitlines(), start=1):
        words = line.split()
        if words and len(words) != 2:
            raise InputError(f"{path}, line {number}: not a file and its kind of text")
        if words:
            files.setdefault(words[1], []).append(words[0])
    return files


def _untag(text: str) -> Iterator[list[str]]:
    """The sentences of each paragraph: one a line, tokens as word_TAG; a blank line ends a paragraph."""
    for paragraph in re.split(r"\n\s*\n", HYPHEN.sub(" @-@ ", text)):
        words = ([token.rpartition("_")[0] or token for token in line.split()] for line in paragraph.split("\n"))
        lines = "\n".join(map(" ".join, words))
        yield [sentence for sentence in detokenize(lines).splitlines() if sentence.strip()]
