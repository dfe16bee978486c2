"""The card of a corpus: how much text, from where, under which licence, what is in it twice, how it cuts into tokens.

After Gebru et al. 2021, "Datasheets for Datasets", as far as a program can fill one in.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from bertlab.corpora.documents import text_files
from bertlab.corpora.english.overlap import Overlap
from bertlab.corpora.examples import Document
from bertlab.corpora.letters import words as words_of
from bertlab.corpora.sources import LICENCES, source_of
from bertlab.evaluation.held_out import held_out
from bertlab.evaluation.report import markdown_table
from bertlab.io.files import read_bytes
from bertlab.tokenizer import Tokenizer

SAMPLED = 5
NAMED = 20  # of the held-out documents that are in the training text too


@dataclass(frozen=True)
class Duplicates:
    """What a corpus holds twice, and which part of the held-out text is in the training text too."""

    sentences: float  # share of sentences that occur earlier
    held_out: int  # held-out documents
    shared: list[tuple[str, str]]  # of these share a run of 13 words with the training part: title, first such run


def duplicates(documents: Sequence[Document]) -> Duplicates:
    """Count repeated sentences, and find the held-out documents that share 13 words in a row with the training part."""
    sentences = [sentence.lower() for document in documents for sentence in document.sentences]
    known, new = held_out(documents)
    overlap = Overlap({"training": (document.text for document in known)})
    runs = [(document.title, overlap.first_shared(document.text)) for document in new]
    return Duplicates(1 - len(set(sentences)) / len(sentences), len(new), [(title, run) for title, run in runs if run])


def cuts(documents: Sequence[Document], sizes: Sequence[int]) -> list[list[str]]:
    """Learn a vocabulary of each size from the training part; return how it cuts the words of the held-out part.

    In words: its size, which is less than asked for where the text is short, the tokens for each word, the share of
    words that are one token, and that of tokens that are [UNK].
    """
    known, new = held_out(documents)
    words = [word for document in new for word in words_of(document.text)]
    return [_cut(Tokenizer.train((s for d in known for s in d.sentences), size), words) for size in sizes]


def _cut(tokenizer: Tokenizer, words: Sequence[str]) -> list[str]:
    rows = tokenizer.encode_batch(list(words))
    tokens = [token for row in rows for token in row]
    unknown = sum(token == tokenizer.unk_token_id for token in tokens)
    whole = sum(len(row) == 1 and row[0] != tokenizer.unk_token_id for row in rows)
    shares = f"{whole / len(words):.0%}", f"{unknown / len(tokens):.2%}"
    return [f"{tokenizer.vocab_size:,}", f"{len(tokens) / len(words):.2f}", *shares]


def sources_table(documents: Sequence[Document]) -> str:
    """Return a table of the sources: titles, documents, words and characters of each, and of all.

    More documents than titles: long ones were cut.
    """
    names = dict.fromkeys(map(source_of, documents))
    rows = [_row(source, [d for d in documents if source_of(d) == source]) for source in names]
    return markdown_table(["source", "titles", "documents", "words", "characters"], [*rows, _row("all", documents)])


def _row(name: str, documents: Sequence[Document]) -> list[str]:
    words, letters = sum(len(d.text.split()) for d in documents), sum(len(d.text) for d in documents)
    titles = len({document.title for document in documents})
    return [name, f"{titles:,}", f"{len(documents):,}", f"{words:,}", f"{letters:,}"]


def shared_table(shared: Sequence[tuple[str, str]]) -> str:
    """Return a table of at most 20 documents and the run of words by which each was found, or nothing."""
    rest = [[f"… and {len(shared) - NAMED:,} more", ""]] if len(shared) > NAMED else []
    return markdown_table(["held-out document", "first shared words"], [*shared[:NAMED], *rest]) if shared else ""


def licences(paths: Sequence[Path]) -> str:
    """Return what the files LICENCES beside the texts say, or that they say nothing."""
    places = chain.from_iterable([path / LICENCES if path.is_dir() else path, *text_files(path)] for path in paths)
    beside = dict.fromkeys(place.parent / LICENCES for place in places)
    files = [file for file in beside if file.is_file()]
    lines = [line for file in files for line in read_bytes(file).decode("utf-8", errors="replace").strip().splitlines()]
    return "  \n".join(lines)  # each a line in Markdown too


def corpus_card(documents: Sequence[Document], licence: str, sizes: Sequence[int]) -> str:
    """Return the card as Markdown; `licence` is what is known. InputError: there are fewer than four documents."""
    found = duplicates(documents)
    drawn = random.Random(0).sample(list(documents), min(SAMPLED, len(documents)))
    head = ["vocabulary", "tokens for each word", "words of one token", "unknown tokens"]
    sections = [
        "# The corpus",
        sources_table(documents),
        "## Licences",
        licence or f"Not stated. Write a file {LICENCES} beside the texts: a line for each source.",
        "## What is there twice",
        f"{found.sentences:.1%} of the sentences occur earlier in the text. {found.held_out} documents are held out; "
        f"{len(found.shared)} of these share a run of 13 words with the others.",
        shared_table(found.shared),
        "## Vocabularies",
        "Learned from the other documents, measured on those held out.",
        markdown_table(head, cuts(documents, sizes)),
        "## A sample",
        markdown_table(["source", "first sentences"], [[source_of(d), " ".join(d.sentences[:2])] for d in drawn]),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"
