"""Labelled examples for a task, by its name: from a file in the field's formats, or of the storyworld."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bertlab.corpora.conll import read_conll
from bertlab.corpora.reading import Skipped
from bertlab.corpora.squad import read_squad
from bertlab.corpora.tabular import read_choices, read_table
from bertlab.errors import InputError
from bertlab.tasks.choice import ChoiceTask
from bertlab.tasks.names import named
from bertlab.tasks.span import SpanTask
from bertlab.tasks.token import TokenTask


@dataclass(frozen=True)
class Columns:
    """Where in a file what stands, and how it is read."""

    text_column: str | None = None
    """Column of the text: a name, in CoNLL files a number from 0; the usual names are found if not given."""
    pair_column: str | None = None
    """Column of the second text of a pair."""
    label_column: str | None = None
    """Column of the label; in CoNLL files a number, the last one if not given."""
    choice_columns: tuple[str, ...] = ()
    """Columns of the choices; the usual names are found if not given."""
    encoding: str = "utf-8"
    """Encoding of the files."""
    on_error: Literal["stop", "skip"] = "stop"
    """Whether a row that cannot be used ends the reading, or is left out and counted."""
