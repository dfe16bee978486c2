"""`bertlab search`: a question in, functions of the installed packages or paragraphs of text files out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bertlab.cli.shared.messages import print_json
from bertlab.cli.shared.settings import Positional
from bertlab.errors import InputError, printable

if TYPE_CHECKING:
    from bertlab.search.ranking import Hit


@dataclass(frozen=True)
class Search:
    """Search the documentation of Python and of the installed packages, or text files of yours, by meaning and words.

    A model orders those texts that fit best by words. The first search of pydoc reads all packages, which takes
    minutes; the result is kept in the user's cache folder and made again when the corpus changes.
    """

    question: Positional[str]
    """What you look for, in your own words."""
    corpus: tuple[str, ...] = ("pydoc",)
    """pydoc: the functions and classes of Python and of the installed packages; or text files (.txt, .md)
    and folders with their subfolders, of which each paragraph can be found."""
    model: str | None = None
    """A model that was fine-tuned with bertlab finetune match, or a BERT of sentence-transformers: a bundled name, a
    folder or a hub id. If not given, the bundled english; --by words needs none."""
    by: Literal["both", "meaning", "words"] | None = None
    """words: BM25, which needs the same words; both, the default: the 150 texts that fit best by words, in
    the order of both; meaning: the cosine of the vectors of all texts, which for pydoc take minutes at first."""
    top: int = 5
    """How many to show."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        from bertlab.search.engine import Search as Engine

        if self.top < 1:
            raise InputError(f"--top {self.top}: show at least one")
        if not self.question.strip():
            raise InputError("the question is empty: write at least one word")
        if self.by == "words" and self.model:
            raise InputError(f"--model {self.model}: --by words opens no model; leave one of the two out")
        engine = Engine.open(self.corpus, self.model, self.by, progress=True)
        hits = engine.search(self.question, self.top)
        if self.json:
            print_json([_row(hit) for hit in hits])
        else:
            nothing = "(nothing has one of these words" + ("; --by meaning needs none)" if engine.encoder else ")")
            print("\n".join(map(_lines, hits)) or nothing)


def _row(hit: "Hit") -> dict[str, Any]:
    shown = {name: getattr(hit.unit, name) for name in ("name", "detail", "sentence")}
    return {"rank": hit.rank, "similarity": hit.similarity, **shown}


def _lines(hit: "Hit") -> str:
    unit = hit.unit
    first = f"{hit.rank:>2}  {hit.similarity:5.2f}  {printable(unit.name)}{_short(unit.detail)}"
    return f"{first}\n           {_short(unit.sentence)}"


def _short(text: str, most: int = 100) -> str:
    """Return a text on one line, cut at a word."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= most else f"{text[:most].rpartition(' ')[0]} ..."
