"""`bertlab corpus`: describe a text before anything learns from it."""

from dataclasses import dataclass
from pathlib import Path

from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional
from bertlab.errors import InputError


@dataclass(frozen=True)
class Corpus:
    """Describe a text before a model learns from it: its size, sources, licences and duplicates, and how vocabularies
    of several sizes cut it."""

    text: Positional[tuple[Path, ...]]
    """Text files (.txt, .md) or folders; or the words pydoc and storyworld. A file LICENCES beside them is quoted."""
    out: Path | None = None
    """Write the card there, as Markdown; it is printed if not given."""
    sizes: tuple[int, ...] = (1000, 4000, 16_000)
    """Sizes of vocabularies to try."""

    def run(self) -> None:
        from bertlab.corpora.documents import check_sources, read_sources
        from bertlab.evaluation.corpus_card import corpus_card, licences
        from bertlab.io.atomic import atomic_write, check_out
        from bertlab.tasks.files import naming
        from bertlab.vocabulary import SPECIAL_TOKENS

        if not self.text:
            raise InputError("name the text to describe: files, folders, pydoc or storyworld")
        if not self.sizes or min(self.sizes) <= len(SPECIAL_TOKENS):
            raise InputError(f"--sizes: give numbers above {len(SPECIAL_TOKENS)}, which the special tokens take")
        if self.out:
            check_out(self.out)
        check_sources(self.text)
        documents = list(read_sources(self.text))
        with naming(", ".join(map(str, self.text))):
            card = corpus_card(documents, licences(self.text), self.sizes)
        if self.out is None:
            print(card, end="")
        else:
            atomic_write(self.out, card)
            say(f"wrote {self.out}")
