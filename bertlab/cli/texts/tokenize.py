"""`bertlab tokenize`: text that may be larger than memory becomes a token store on disk."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional
from bertlab.errors import InputError


@dataclass(frozen=True)
class Tokenize:
    """Turn text that may be larger than memory into a token store, which pretrain --store learns from.

    If it was stopped, the same command goes on where it was.
    """

    text: Positional[tuple[Path, ...]] = ()
    """Text files (.txt, .md) or folders; or the words pydoc (docstrings, as in pretrain) and storyworld."""
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
        from bertlab.tokenizer import Tokenizer

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
