"""`bertlab data`: text and labelled examples of the storyworld as files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bertlab.cli.settings import Positional


@dataclass(frozen=True)
class Data:
    """Write text, questions or labelled examples of the storyworld to a file."""

    kind: Positional[
        Literal["documents", "questions", "sentiment", "entities", "entailment", "matching", "choices"]
    ] = "documents"
    """documents: plain text, a blank line between two; questions: SQuAD 2.0 JSON; sentiment, entailment, matching: CSV;
    entities: CoNLL columns; choices: JSON lines."""
    out: Path = Path("storyworld")
    """The file; its ending is added if it has none."""
    count: int = 1000
    """How many."""
    seed: int = 0
    """Another seed, another world of stories."""
    split: Literal["train", "dev", "test"] = "train"
    """test and dev hold combinations that train never shows."""

    def run(self) -> None:
        from bertlab.corpora.storyworld.export import write_storyworld

        path = write_storyworld(self.kind, self.out, self.count, self.seed, self.split)
        print(f"wrote {self.count} {self.kind} to {path}")
