"""Files of labelled examples as the command line names them: options, and errors that name the source."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bertlab.corpora.examples import Problem
from bertlab.corpora.labelled.columns import Columns
from bertlab.corpora.labelled.tabular import ReadOptions
from bertlab.corpora.reading import Skipped
from bertlab.errors import InputError


@dataclass(frozen=True)
class FileOptions:
    """Which columns of a file hold what, and how the file is read."""

    text_column: str | None = None
    """Column of the text: its name, or its number from 0 where columns have no names; usual names are found by
    themselves."""
    pair_column: str | None = None
    """Column of the second text of a pair."""
    label_column: str | None = None
    """Column of the label; in CoNLL files the last one if not given."""
    choice_columns: tuple[str, ...] = ()
    """Columns of the choices."""
    encoding: str = "utf-8"
    """Encoding of the files."""
    on_error: Literal["stop", "skip"] = "stop"
    """Whether a row that cannot be used ends the reading, or is left out and counted; also a row to measure by, with a
    label that the model does not know."""
    skip_label: tuple[str, ...] = ()
    """Labels whose rows are left out and counted where labels are read, as - in SNLI and OCNLI, where annotators did
    not agree."""

    @property
    def columns(self) -> Columns:
        """The named columns."""
        return Columns(self.text_column, self.pair_column, self.label_column, self.choice_columns)

    def skipped(self) -> Skipped:
        """Return a counter of the rows that are left out."""
        return Skipped(stop=self.on_error == "stop", unwanted=frozenset(self.skip_label))

    def reading(
        self, problem: Problem = "single_label_classification", pairs: bool | None = None, labelled: bool = True
    ) -> ReadOptions:
        """Return the options of a reader, with a counter of its own for rows that are left out."""
        return ReadOptions(self.columns, problem, pairs, labelled, self.encoding, self.skipped())


@contextmanager
def naming(source: str | Path) -> Iterator[None]:
    """Make InputErrors about examples name the file, or data set, that they come from."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
