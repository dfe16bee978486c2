"""The large public English as a token store: a vocabulary of it, without overlap with what is measured."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, repeat
from pathlib import Path
from types import MappingProxyType

from bertlab.corpora.english.large import read_large
from bertlab.corpora.english.measured import held_out_words, measured_texts
from bertlab.corpora.english.overlap import Overlap, Removed, without_overlap
from bertlab.corpora.english.sources import LARGE_SOURCES, SOURCES, describe
from bertlab.inputs.store import TokenStore
from bertlab.inputs.store_writing import write_store
from bertlab.io.atomic import atomic_write
from bertlab.io.files import read_text
from bertlab.tokenizer import Tokenizer

VOCABULARY_EACH = 4  # one document in so many is enough to learn a vocabulary from


def english_store(
    folder: Path,
    store: Path,
    vocab_size: int,
    lowercase: bool = True,
    *,
    tokenizer: Tokenizer | None = None,
    copies: Mapping[str, int] = MappingProxyType({}),
    progress: bool = True,
) -> TokenStore:
    """Open the token store of the large English corpora below `folder`; make it first if there is none.

    Its vocabulary is that of the `tokenizer`, or learned from the text. A document stands in it as often as `copies`
    says of its genre, else once. Making takes some minutes: the text is read once for the vocabulary and once for the
    tokens. After a kill the same call goes on. Beside the store, STORE.md describes its text for a model card.
    InputError: the store is there, but was made with another vocabulary than the `tokenizer`'s.
    """
    if not store.exists():
        tokenizer = tokenizer or _vocabulary(folder, store, vocab_size, lowercase, progress)
        write_store(store, _text(folder, store, copies, progress), tokenizer, progress=progress)
    return TokenStore.open(store, tokenizer)


def about(store: Path) -> str:
    """Return the text for the model card: corpora, licences, words of each genre, overlap removed."""
    return read_text(_about_path(store))


def _vocabulary(folder: Path, store: Path, vocab_size: int, lowercase: bool, progress: bool) -> Tokenizer:
    """Learn the vocabulary, or open the one that a killed call left beside the store."""
    home = store.with_name(f"{store.name}.vocabulary")
    if not (home / "tokenizer_config.json").is_file():  # written last
        documents = islice(read_large(folder, "train", progress), 0, None, VOCABULARY_EACH)
        sentences = (sentence for document in documents for sentence in document.sentences)
        tokenizer = Tokenizer.train(sentences, vocab_size, lowercase)
        home.mkdir(parents=True, exist_ok=True)
        tokenizer.save_pretrained(home)
    return Tokenizer.from_pretrained(home)


def _text(folder: Path, store: Path, copies: Mapping[str, int], progress: bool) -> Iterator[Sequence[str]]:
    """Yield the documents to learn from, each its sentences; at the end describe them beside the store."""
    removed, measured = Removed(), measured_texts(folder)
    for document in without_overlap(read_large(folder, "train", progress), Overlap(measured), removed):
        yield from repeat(document.sentences, copies.get(document.genre, 1))
    words = describe(removed.kept, held_out_words(measured), SOURCES + LARGE_SOURCES)
    atomic_write(_about_path(store), f"{words}\n\n{removed.describe()}\n")


def _about_path(store: Path) -> Path:
    return store.with_name(f"{store.name}.md")
