"""How a file of examples is read."""

from dataclasses import dataclass
from typing import Literal

from bertlab.corpora.reading import Skipped


@dataclass(frozen=True)
class FileOptions:
    """Where in a file what stands, and how it is read."""

    text_column: str | None = None
    """Column of the text: its name, in CoNLL files its number from 0; usual names are found by themselves."""
    pair_column: str | None = None
    """Column of the second text of a pair."""
    label_column: str | None = None
    """Column of the label; in CoNLL files a number, the last one if not given."""
    choice_columns: tuple[str, ...] = ()
    """Columns of the choices."""
    encoding: str = "utf-8"
    """Encoding of the files."""
    on_error: Literal["stop", "skip"] = "stop"
    """Whether a row that cannot be used ends the reading, or is left out and counted."""

    def given(self, *names: str) -> dict:
        """Those of these columns that were named, as arguments of a reader."""
        return {name: value for name in names if (value := getattr(self, name))}

    def skipped(self) -> Skipped | None:
        """What counts the rows that are left out; None where the first one that cannot be used ends the reading."""
        return Skipped() if self.on_error == "skip" else None
