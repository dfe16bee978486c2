"""A visitor's file of texts, which the library's readers read from memory: its rows, and the columns of a table."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path

import streamlit as st

from app.shared.page.markdown import plain
from bertlab.corpora.labelled.columns import LABELS, TEXTS, Columns
from bertlab.corpora.labelled.records import Record, read_records
from bertlab.corpora.reading import Skipped
from bertlab.errors import InputError
from bertlab.io.files import InMemory

NOTHING = "none"
KEPT_FILES = 50
FLAGS = re.compile(r"(; see | then give |; | \(see )?--[a-z][^;)]*\)?")  # what only the command line has


def kept_file(label: str, types: Sequence[str], key: str, most: int, help: str) -> tuple[str, bytes] | None:
    """Show the field for a file, at most so many megabytes. Returns name and content of the file, which stays the
    visitor's while other pages are open; None while there is none."""

    def keep() -> None:  # the field itself forgets the file with its page
        upload = st.session_state[key]
        st.session_state[kept] = (upload.name, upload.getvalue()) if upload else None

    kept = f"{key} kept"
    upload = st.file_uploader(label, types, key=key, on_change=keep, max_upload_size=most, help=help)
    file = st.session_state.get(kept)
    if file is None:
        st.info("Choose a file above, for example a CSV with columns text and label.", icon=":material/upload_file:")
        return None
    st.session_state.not_in_link.append("file")
    if upload is None:
        st.caption(f"You see **{plain(file[0])}**, which you chose before.")
    return file


def uploaded_file(name: str, content: bytes) -> InMemory:
    """Return the file as a path, which messages name as the visitor does. InputError unless it is UTF-8, or UTF-16,
    which its first two bytes show."""
    path = InMemory(Path(name).name or "file")
    path.content = content
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return path
    if b"\0" in content:
        raise InputError(f"{path}: holds NUL characters, so it is no plain text; save it as UTF-8 and choose it again")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8 and choose it again") from error
    return path


def without_flags(message: str) -> str:
    """Return a message of a reader without the advice that is for the command line."""
    return FLAGS.sub("", message)


def records(name: str, content: bytes, skipped: Skipped) -> Generator[Record, None, None]:
    """Yield the rows of an uploaded table."""
    try:
        yield from read_records(uploaded_file(name, content), skipped=skipped)
    except InputError as error:
        raise InputError(f"the file {without_flags(str(error))}") from error


@st.cache_data(max_entries=KEPT_FILES, show_spinner="Reading the file")
def names_in(key: str, name: str, _content: bytes) -> list[str]:
    """Return the names of the columns; `key` tells files apart. Raises InputError if there are no rows."""
    skipped = Skipped()
    with closing(records(name, _content, skipped)) as rows:
        first = next(rows, None)
    if first is None:
        why = f" that can be used: {skipped}" if skipped.count else ""
        raise InputError(f"the file {name}: there are no rows{why}")
    if not first.values:
        raise InputError(f"the file {first.where}: no columns; each line needs at least one, with its name")
    return list(first.values)


def choose(names: Sequence[str], key: str, pairs: bool | None = None) -> Columns:
    """Ask which columns hold texts and labels, and unless `pairs` is None second texts; at first those with the usual
    names. `key` tells the fields of two pages apart. They stay as they are while another page or tab is open."""
    text = next((name for name in TEXTS if name in names), names[0])
    if len(names) == 1:
        return Columns(text, None, None)
    fields, kept = st.columns(2 if pairs is None else 3), dict(persist_state="session")
    text = fields[0].selectbox("Column of texts", names, names.index(text), key=f"{key}_text {names}", **kept)
    others = [NOTHING, *(name for name in names if name != text)]

    def ask(place, label: str, usual: Iterable[str | None], part: str) -> str | None:
        at = next((others.index(name) for name in usual if name in others), 0)
        chosen = place.selectbox(label, others, at, key=f"{key}_{part} {names} {text}", **kept)
        return None if chosen == NOTHING else chosen

    pair = None if pairs is None else ask(fields[1], "Second texts", [TEXTS.get(text)] if pairs else [], "pair")
    return Columns(text, pair, ask(fields[-1], "Labels", LABELS, "label"))
