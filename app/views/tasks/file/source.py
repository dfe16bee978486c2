"""Which data set is shown: a bundled one, or a file of the visitor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import streamlit as st

from app.shared.model import models, uploads
from app.shared.model.bundled import STORYWORLD
from app.shared.page import state
from app.shared.page.exports import Cell, Name
from app.shared.page.markdown import plain
from app.shared.text import columns, texts
from app.shared.text.columns import uploaded_file, without_flags
from app.views.tasks.file.kinds import QUESTIONS, TEXTS, WORDS, Kind, kind_of
from bertlab.corpora.labelled.columns import Columns
from bertlab.corpora.labelled.tabular import ReadOptions, film_reviews
from bertlab.corpora.reading import Skipped
from bertlab.errors import InputError
from bertlab.tasks.base import Task
from bertlab.tasks.registry import open_task, task_of
from bertlab.tasks.sequence import problem_of

FILE, MADE = "a file", {texts.OPINIONS: TEXTS, texts.NAMES: WORDS, texts.QUESTIONS: QUESTIONS}
MADE_ROWS, MOST_ROWS = 300, 10_000
FILE_TYPES = ["csv", "tsv", "jsonl", "json", "txt", "conll", "bio", "iob", "iob2"]
HELP = (
    "A table of texts (CSV, TSV, JSON lines) with a column of labels, questions in the format of SQuAD (JSON), or "
    "words with their labels in the format of CoNLL. Labels may be missing. The file stays in this server's memory "
    "while your page is open, nobody else can see it, and no link contains it."
)


@dataclass(frozen=True)
class Data:
    """Examples of one kind with the model and the task that read them; `key` tells data sets apart, `code` reads it.

    `names` are labels of the data with those that the model has instead.
    """

    kind: Kind
    examples: Sequence[Any]
    loaded: models.Loaded
    task: Task
    key: str
    code: Cell
    labelled: bool = True
    names: tuple[tuple[str, str], ...] = ()
    file: bool = False  # the visitor's


def choose() -> Data | None:
    """Show the fields for the data. Returns None while the file is missing."""
    names = [*texts.chosen().data, FILE]
    source = state.one_of("Which data", names, "dataset_set", persist_state="session")
    return own_file() if source == FILE else bundled(source)


def bundled(name: str) -> Data:
    kind = MADE.get(name, TEXTS)
    data = opened(kind, STORYWORLD if name in MADE else None)
    if name in MADE:
        made = data.code.call(kind.made, seed=0, count=MADE_ROWS, split="test")
        data.code.let("examples", Name(f"list({made})[:{MADE_ROWS}]"))
    else:
        data.code.let("examples", data.code.call(film_reviews))
    return replace(data, examples=storyworld_examples(name) if name in MADE else film_reviews(), key=name)


def opened(kind: Kind, base: str | None = None) -> Data:
    """Return data without examples: the chosen model, or the bundled one for this kind, of `base` if that is given, its
    task, and the cell that opens both."""
    loaded, cell = models.model_for(kind.task, base), Cell()
    task = task_of(kind.family, Path(loaded.folder), loaded.model.config, loaded.tokenizer)
    cell.let("model, task", cell.call(open_task, loaded.source))
    return Data(kind, (), loaded, task, "", cell)


@st.cache_data(show_spinner="Writing the examples")
def storyworld_examples(name: str) -> list:
    return list(islice(MADE[name].made(seed=0, count=MADE_ROWS, split="test"), MADE_ROWS))


def own_file() -> Data | None:
    """Show the fields for a file."""
    file = columns.kept_file("A file of examples", FILE_TYPES, "dataset_file", uploads.TEXT_MEGABYTES, HELP)
    if file is None:
        return None
    name, content = file
    data, chosen = opened(kind_of(name, content)), Columns()
    if data.kind.columns:
        names = columns.names_in(sha256(content).hexdigest(), name, content)
        chosen = columns.choose(names, "dataset", bool(data.task.learned and data.task.learned.pairs))
    try:
        return read(name, content, data, chosen)
    except InputError as error:
        raise InputError(f"the file {without_flags(str(error))}") from error


def read(name: str, content: bytes, data: Data, asked: Columns) -> Data:
    """Return the data with the examples of a file. What was read last is kept in the session."""
    config = data.loaded.model.config
    labelled = asked.label is not None or not data.kind.columns
    problem = problem_of(config) if data.kind is TEXTS else "single_label_classification"
    key = f"{sha256(content).hexdigest()} {asked} {problem}"
    kept = st.session_state.get("dataset_read")
    if not kept or kept[0] != key:
        examples, labelled, left_out = examples_of(name, content, data, asked, problem, labelled)
        kept = st.session_state.dataset_read = key, examples, labelled, left_out
    _, examples, labelled, left_out = kept
    if left_out:
        st.warning(plain(without_flags(left_out[:1].upper() + left_out[1:])), icon=":material/content_cut:")
    if len(examples) > MOST_ROWS:
        st.warning(f"Only the first {MOST_ROWS:,} rows are read.", icon=":material/content_cut:")
    cell = data.code
    skipped = Name(f"{cell.use(Skipped)}()")
    options = cell.call(ReadOptions, asked, problem, asked.pair is not None, labelled, skipped=skipped)
    found = f"task.read_examples({cell.use(Path)}({name!r}), {options})"
    cell.let("examples", Name(f"list({cell.use(islice)}({found}, {MOST_ROWS}))"))
    return replace(data, examples=examples[:MOST_ROWS], key=key, labelled=labelled, file=True)


def examples_of(name: str, content: bytes, data: Data, asked: Columns, problem, labelled: bool) -> tuple:
    """Return up to one example more than are shown, whether they have labels, and which rows were left out."""
    skipped = Skipped()

    def examples(labelled: bool) -> list:
        options = ReadOptions(asked, problem, asked.pair is not None, labelled, skipped=skipped)
        found = data.task.read_examples(uploaded_file(name, content), options)
        return list(islice(found, MOST_ROWS + 1))

    with st.spinner("Reading the file"):
        try:
            found = examples(labelled)
        except InputError:
            if data.kind.columns or not labelled:
                raise
            skipped, labelled = Skipped(), False  # a file of words or questions may have no labels
            found = examples(labelled)
    return found, labelled, str(skipped) if skipped else ""
