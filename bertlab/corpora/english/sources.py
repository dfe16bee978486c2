"""Which public English there is: where each corpus is found, under which licence, and how a model card lists it.

None of the texts is part of bertlab.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bertlab.corpora.examples import Document
from bertlab.errors import InputError

Split = Literal["train", "test"]
SMALL_GENRES = ("novel", "wikipedia", "spoken", "written")
LARGE_GENRES = ("fiction", "article", "review")


@dataclass(frozen=True)
class Source:
    """One corpus: its folder, what its makers call it, its licence, where it is found, what it should hold."""

    folder: str
    name: str
    licence: str
    address: str
    content: str

    @property
    def wanted(self) -> str:
        """What to put into the folder, and where it is found."""
        return f"put there {self.content} ({self.address}; licence: {self.licence})"


SOURCES = (
    Source(
        "litbank_novels",
        "LitBank, full texts (Project Gutenberg)",
        "public domain in the USA; collection CC BY 4.0",
        "https://github.com/dbamman/litbank/tree/3e50db0ffc033d7ccbb94f4d88f6b99210328ed8/original",
        "its books as NAME.txt; bertlab's own models know those of up to 650,000 bytes by authors who died before 1956",
    ),
    Source(
        "wikitext2",
        "WikiText-2 (Wikipedia)",
        "CC BY-SA 3.0",
        "https://github.com/pytorch/examples/tree/77f55b912142e11fcfdf5b530231fb9c52f181e8/word_language_model/data/wikitext-2",
        "test.raw.txt or test.txt; valid.txt and, for more Wikipedia, train.txt",
    ),
    Source(
        "masc",
        "MASC, Manually Annotated Sub-Corpus of the American National Corpus (masc_tagged)",
        "open, for linguistic education, research and development, also commercial",
        "https://github.com/nltk/nltk_data/blob/5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora/masc_tagged.zip",
        "categories.txt, spoken/ and written/",
    ),
)

LARGE_SOURCES = (
    Source(
        "gutenberg_fiction",
        "Fiction of 37 authors (Project Gutenberg)",
        "public domain in the USA",
        "https://github.com/rcdm-uga/Gutenberg_Text/tree/a0b16d35a9851168ce9ac649851c17b7ab08d48e",
        "gutenberg_fiction.tar.xz, or it unpacked: a folder for each author, in it a NAME.txt for each book",
    ),
    Source(
        "imdb",
        "Large Movie Review Dataset v1.0 (Maas et al. 2011); its test reviews are left out",
        "published for research, the reviews belong to their writers",
        "https://ai.stanford.edu/~amaas/data/sentiment/",
        "imdb.tar.xz, or it unpacked: unlabelled.txt (a blank line between reviews), train.csv and test.csv "
        "(columns id, text, label)",
    ),
    Source(
        "wikipedia_2019",
        "English Wikipedia of about 2019 (WikiExtractor)",
        "CC BY-SA 3.0",
        "https://github.com/Vibhas-hs-edu/WikiTasks/tree/52b1f163137bc40b0f67cbf129d5dab4f6fd5901/text/AA",
        "wikipedia_2019.tar.xz, or it unpacked: articles.txt (a title, its paragraphs as lines, a blank line)",
    ),
)

HELD_OUT = (
    "Held out are whole books, whole articles (the published test split) and whole documents. "
    "Measures without a genre are means, in which each genre counts alike."
)


def check(folder: Path, split: Split, sources: Sequence[Source]) -> None:
    """Raise InputError for an unknown split, or naming each corpus that is not below `folder`, with what
    belongs into the first."""
    if split not in ("train", "test"):
        raise InputError(f"split={split!r}: choose train or test")
    lacking = [source for source in sources if not (folder / source.folder).is_dir()]
    if lacking:
        first, *more = lacking
        others = f", nor {', '.join(source.folder for source in more)}" if more else ""
        raise InputError(f"{folder / first.folder}: no such folder{others}; {first.wanted}")


def describe(learned: Counter[str], held_out: Counter[str], sources: Sequence[Source] = SOURCES) -> str:
    """Describe `sources` for a model card, in Markdown: licences, and the words of each genre in both splits."""
    listed = [f"- {source.name}; licence: {source.licence}; {source.address}" for source in sources]
    genres = [genre for genre in SMALL_GENRES + LARGE_GENRES if learned[genre] or held_out[genre]]
    rows = [f"| {genre} | {learned[genre]:,} | {held_out[genre]:,} |" for genre in genres]
    table = ["| genre | words learned from | words held out |", "|---|---|---|", *rows]
    return "\n".join(["Trained on public English:", "", *listed, "", *table, "", HELD_OUT])


def count_words(documents: Iterable[Document]) -> Counter[str]:
    """Count the words of each genre."""
    words: Counter[str] = Counter()
    for document in documents:
        words[document.genre] += len(document.text.split())
    return words
