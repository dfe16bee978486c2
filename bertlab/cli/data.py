"""`bertlab data`: text and labelled examples as files: of the storyworld, and questions made from any text.

`bertlab data corpus` describes a text, `bertlab data tokenize` makes a token store of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tqdm.auto import tqdm

from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional
from bertlab.corpora.sources import LICENCES, PACKAGES, source_examples, source_of, write_docstrings
from bertlab.errors import InputError
from bertlab.io.atomic import atomic_folder, atomic_write, check_out, keep_apart, with_ending
from bertlab.tasks.files import naming
from bertlab.tokenizer import Tokenizer
from bertlab.vocabulary import SPECIAL_TOKENS

if TYPE_CHECKING:
    from bertlab.corpora.examples import Document

World = Literal["documents", "questions", "adversarial", "sentiment", "entities", "entailment", "matching", "choices"]
Kind = Literal[World, "cloze", "docstrings", "sources"]
FILES = (".csv", ".json", ".jsonl", ".md", ".tsv", ".txt")  # endings that no folder should have


@dataclass(frozen=True)
class Data:
    """Write text, questions or labelled examples to a file. `bertlab data corpus` describes a text, `bertlab data
    tokenize` stores its token ids."""

    kind: Positional[Kind] = "documents"
    """Of the storyworld: documents: plain text, a blank line between two; questions: SQuAD 2.0 JSON; adversarial: the
    same with a misleading sentence behind each passage; sentiment, entailment, matching: CSV; entities: CoNLL columns;
    choices: JSON lines. cloze: questions made without labels, from --text or --data: a name, number, date or thing is
    taken out of a sentence and asked for. docstrings: those of --packages, as a folder of texts. sources: passages of
    --text labelled with their file, as a folder of train.csv, dev.csv and test.csv, which share no document."""
    out: Path | None = None
    """The file; its ending is added if it has none. storyworld or cloze if not given; the folders texts and labels."""
    count: int = 1000
    """How many."""
    seed: int = 0
    """Another seed, another world of stories; of cloze, other questions on the same text."""
    split: Literal["train", "dev", "test"] = "train"
    """test and dev hold combinations that train never shows."""
    text: tuple[Path, ...] = ()
    """For cloze: text files, folders of them, or pydoc. For sources: two text files or more, or a folder of them.
    Folders are read with their subfolders."""
    packages: tuple[str, ...] = PACKAGES
    """For docstrings: the installed packages to take."""
    data: Path | None = None
    """For cloze: the folder with wikipedia_2019, as for bertlab pretrain english-scratch; passages of XQuAD are
    left out."""

    def run(self) -> None:
        """Write the file and say so."""
        check_options(self)
        others = {"cloze": write_cloze, "docstrings": write_packages, "sources": write_sources}
        if write := others.get(self.kind):
            print(write(self))
            return
        from bertlab.corpora.storyworld.export import write_storyworld

        check_out(self.out or Path("storyworld.txt"))
        path = write_storyworld(self.kind, self.out or Path("storyworld"), self.count, self.seed, self.split)
        print(f"wrote {self.count} {self.kind} to {path}")


TAKEN = {  # the options that a kind heeds beside --out; all others are of the storyworld
    "the storyworld": ("count", "seed", "split"),
    "cloze": ("count", "seed", "text", "data"),
    "docstrings": ("packages",),
    "sources": ("count", "seed", "text"),
}


def check_options(command: Data) -> None:
    """Raise an InputError for an option that is of no effect on this kind."""
    taken = TAKEN.get(command.kind, TAKEN["the storyworld"])
    for field in fields(command):
        name = field.name
        if name in ("kind", "out", *taken) or getattr(command, name) == field.default:
            continue
        kinds = ", ".join(kind for kind, names in TAKEN.items() if name in names)
        raise InputError(f"--{name} is for {kinds}, not for {command.kind}")
    if command.count < 1:
        raise InputError(f"--count {command.count}: write at least one")


def write_cloze(command: Data) -> str:
    """Write at most `count` questions as SQuAD JSON, and return what was written."""
    from bertlab.corpora.cloze import cloze_questions
    from bertlab.corpora.labelled.squad import squad_text

    path = with_ending(command.out or Path("cloze"), ".json")
    check_out(path)
    keep_apart(path, command.text)
    found = islice(cloze_questions(cloze_text(command), command.seed), command.count)
    questions = list(tqdm(found, "questions", command.count, leave=False))
    if not questions:
        raise InputError("there is no name, number or date to ask for in this text")
    atomic_write(path, squad_text(questions, "cloze"))
    return f"wrote {len(questions):,} questions to {path}"


def cloze_text(command: Data) -> "Iterator[Document]":
    """Return the documents to ask about."""
    from bertlab.corpora import english
    from bertlab.corpora.documents import check_sources, read_sources
    from bertlab.corpora.english.large import ARTICLES, read_articles
    from bertlab.corpora.english.measured import measured_passages
    from bertlab.corpora.english.overlap import Overlap, Removed, without_overlap

    if bool(command.text) == bool(command.data):
        raise InputError("cloze asks about a text: give one of --text and --data")
    if command.data:
        english.check(command.data, "train", [ARTICLES])
        articles = read_articles(command.data)
        return without_overlap(articles, Overlap(measured_passages(command.data)), Removed())
    check_sources(command.text)
    return iter(read_sources(command.text))


def write_packages(command: Data) -> str:
    """Write the docstrings of packages, and return what was written."""
    out = command.out or Path("texts")
    check_empty(out, f"for texts of your own write {out / LICENCES}, a line for each")
    modules = write_docstrings(out, command.packages)
    return f"wrote the docstrings of {modules:,} modules of {len(command.packages)} packages to {out}"


def write_sources(command: Data) -> str:
    """Write labelled passages, and return what was written.

    The test part is what pretrain holds out of the same text, so a model pretrained on the rest has not seen it.
    """
    from bertlab.corpora.documents import check_sources, read_sources
    from bertlab.corpora.storyworld.export import csv_text
    from bertlab.evaluation.held_out import held_out

    if not command.text:
        raise InputError("sources are labels of a text: name two files or more, or a folder, with --text")
    out, texts = command.out or Path("labels"), {}
    check_empty(out, "labels of your own are train.csv, dev.csv and test.csv")
    check_sources(command.text)
    if command.count < 2:
        raise InputError(f"--count {command.count}: labels need passages of two files or more")
    if files_of(command.text) < 2:
        raise InputError("--text: passages of 1 source: labels need two files of some twenty documents each")
    documents = list(read_sources(command.text))
    with naming(", ".join(map(str, command.text))):
        known, test = held_out(documents)
        train, dev = held_out(known, every=10)
    learned = {*map(source_of, train)}  # a source of one document may be held out as a whole
    for name, part in {"train": train, "dev": dev, "test": test}.items():
        with naming(out / f"{name}.csv"):
            found = source_examples([d for d in part if source_of(d) in learned], command.count, command.seed)
        texts[name] = csv_text(found)
    with atomic_folder(out) as work:
        for name, text in texts.items():
            (work / f"{name}.csv").write_text(text, encoding="utf-8")
    rows = ", ".join(f"{text.count(chr(10)) - 1:,} for {name}" for name, text in texts.items())
    return f"wrote passages to {out}: {rows}"


def files_of(paths: tuple[Path, ...]) -> int:
    """Count the files of a text; pydoc and storyworld, which are always at hand, are as many as are needed."""
    from bertlab.corpora.documents import AT_HAND, text_files

    return sum(2 if path in AT_HAND and not path.exists() else len(text_files(path)) for path in paths)


def check_empty(folder: Path, hint: str) -> None:
    """Raise an InputError if something is in the folder, which may be the user's own, or if it cannot be written."""
    if folder.suffix in FILES:
        raise InputError(f"--out {folder}: what is written is a folder; leave {folder.suffix} out of its name")
    check_out(folder, folder=True)
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder}: holds files already; remove them, or choose another --out ({hint})")


@dataclass(frozen=True)
class Corpus:
    """Describe a text before a model learns from it: its size, sources, licences and duplicates, and how vocabularies
    of several sizes cut it."""

    text: Positional[tuple[Path, ...]]
    """Text files (.txt, .md), or folders with their subfolders; or the words pydoc and storyworld. A file LICENCES
    beside them is quoted."""
    out: Path | None = None
    """Write the card there, as Markdown; it is printed if not given."""
    sizes: tuple[int, ...] = (1000, 4000, 16_000)
    """Sizes of vocabularies to try."""

    def run(self) -> None:
        from bertlab.corpora.documents import check_sources, read_sources
        from bertlab.evaluation.corpus_card import corpus_card, licences

        if not self.text:
            raise InputError("name the text to describe: files, folders, pydoc or storyworld")
        if not self.sizes or min(self.sizes) <= len(SPECIAL_TOKENS):
            raise InputError(f"--sizes: give numbers above {len(SPECIAL_TOKENS)}, which the special tokens take")
        if self.out:
            check_out(with_ending(self.out, ".md", ".txt") if self.out.suffix else self.out)
        check_sources(self.text)
        documents = list(read_sources(self.text))
        with naming(", ".join(map(str, self.text))):
            card = corpus_card(documents, licences(self.text), self.sizes)
        if self.out is None:
            print(card, end="")
        else:
            atomic_write(self.out, card)
            say(f"wrote {self.out}")


@dataclass(frozen=True)
class Tokenize:
    """Turn text that may be larger than memory into a token store, which pretrain --store learns from.

    If it was stopped, the same command goes on where it was.
    """

    text: Positional[tuple[Path, ...]] = ()
    """Text files (.txt, .md), or folders with their subfolders; or the words pydoc (docstrings, as in pretrain) and
    storyworld."""
    dataset: str | None = None
    """Instead of these a data set of the hub, streamed: org/name or org/name/configuration, or the folder of one."""
    column: str = "text"
    """The column that holds its text; a row is a document."""
    model: str = "english"
    """Whose vocabulary to take: a bundled name, a folder or a hub id."""
    out: Path = Path("store")
    """The folder to make."""
    processes: int = 1
    """How many processes tokenize."""

    def run(self) -> None:
        from bertlab.corpora.documents import check_sources, read_sources
        from bertlab.corpora.labelled.hub_datasets import read_dataset
        from bertlab.inputs.store_writing import write_store

        if bool(self.text) == bool(self.dataset):
            raise InputError("give files, folders, pydoc or storyworld to tokenize, or else --dataset")
        documents: Iterable[Sequence[str] | str]
        if self.dataset:
            documents = read_dataset(self.dataset, self.column)
        else:
            check_sources(self.text)
            documents = (document.sentences for document in read_sources(self.text))
        tokenizer = Tokenizer.from_pretrained(self.model)
        header = write_store(self.out, documents, tokenizer, processes=self.processes).header
        left_out = f" ({header.empty_documents:,} empty left out)" if header.empty_documents else ""
        documents_read = f"{header.documents:,} document" + "s" * (header.documents != 1)
        say(f"{header.tokens:,} tokens of {documents_read}{left_out}")
        say(f"saved to {self.out}; learn from it with: bertlab pretrain --store {self.out}")
