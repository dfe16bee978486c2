"""Which texts are shown: a bundled set, the visitor's own lines or file, and sentences added to any of them."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import islice

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.shared.page import state
from app.shared.page.exports import Cell, Name
from app.shared.page.markdown import plain
from app.shared.text import columns
from app.shared.text.columns import KEPT_FILES
from app.shared.text.texts import OPINIONS, REVIEWS, SUBJECTS, TOPICS, chosen
from bertlab.corpora import storyworld
from bertlab.corpora.labelled.columns import Columns
from bertlab.corpora.labelled.tabular import ReadOptions, film_reviews, read_table, reviews_by_subject, text_examples
from bertlab.corpora.reading import Skipped
from bertlab.draw.charts.projection import YOURS
from bertlab.errors import InputError

OWN, FILE = "my own lines", "a file"
LEADS = {
    SUBJECTS: "Reviews of films, books, food, hotels, apps, tools and services, written for this page. The subject is "
    "the label.",
    REVIEWS: "One sentence each on some film, *positive* or *negative*, written for this page. Most of their words are "
    "found in both: “not a bad film” is praise, “not a good film” is none.",
    OPINIONS: "Two short sentences each, *good* or *bad*. Both contain good and bad words, and “not” or “although” "
    "reverses them: counting words cannot tell them apart.",
    TOPICS: "Two sentences each on one of six topics. The words alone give the topic away, and random weights keep the "
    "words: training has little to add here. *Opinions* show what it can add.",
}
BUNDLED_TEXTS, MOST_TEXTS, MOST_YOURS = 240, 500, 20
WRITTEN = dict(seed=0, count=BUNDLED_TEXTS, split="test")
SETS: dict[str, tuple[Callable[..., Iterable], dict]] = {
    SUBJECTS: (reviews_by_subject, {}),
    REVIEWS: (film_reviews, {}),
    OPINIONS: (storyworld.sentiment, WRITTEN),
    TOPICS: (storyworld.labelled_sentences, WRITTEN),
}
OWN_DEFAULT = """animals | my dog is hairy.
animals | penguins are flightless birds.
animals | the cat sleeps on the sofa.
animals | a horse stands in the field.
weather | it rained all day.
weather | the sun is out this morning.
weather | a cold wind blows from the sea.
weather | the snow lies deep."""
MOST_MEGABYTES = 5
NO_LABEL, BETWEEN = "no label", re.compile(r"\s*\t\s*|\s+\|\s+")  # a label and its text
FILE_TYPES = ["csv", "tsv", "jsonl", "txt"]


@dataclass(frozen=True)
class TextSet:
    """Texts with their labels, the code that makes them, and the visitor's own sentences, which have no label."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    code: Cell
    yours: tuple[str, ...] = ()
    opinions: bool = False  # the labels are praise and blame

    @property
    def all_texts(self) -> tuple[str, ...]:
        return self.texts + self.yours

    @property
    def all_labels(self) -> tuple[str, ...]:
        return self.labels + (YOURS,) * len(self.yours)

    def first(self, count: int) -> "TextSet":
        """Return only the first `count` texts."""
        yours = self.yours[: max(0, count - len(self.texts))]
        return replace(self, texts=self.texts[:count], labels=self.labels[:count], yours=yours)

    def cell(self, yours: bool) -> Cell:
        """Return a cell that makes `texts` and `labels`, with the visitor's own sentences if they are wanted."""
        cell = self.code.copy()
        if yours and self.yours:
            cell.lines += [f"texts += {list(self.yours)!r}", f"labels += {[YOURS] * len(self.yours)!r}"]
        return cell


def choose(place: DeltaGenerator) -> TextSet | None:
    """Show the sets of texts in their `place`, and the fields for texts. Returns None while the file is missing."""
    names = [*chosen().meaning, OWN, FILE]
    source = state.one_of("Which texts", names, "meaning_set", place, persist_state="session")
    found = {FILE: uploaded_texts, OWN: own_texts}.get(source, partial(bundled_texts, source))()
    if found is None:
        return None
    texts, labels, code = found
    return TextSet(tuple(texts), tuple(labels), code, tuple(added()), source in (REVIEWS, OPINIONS))


def bundled_texts(source: str) -> tuple[Sequence[str], Sequence[str], Cell]:
    st.caption(LEADS[source])
    (make, options), examples, cell = SETS[source], written(source), Cell()
    code = in_columns(cell, cell.call(make, **options))
    return [e.text for e in examples], [e.label for e in examples], code


@st.cache_data(show_spinner=False)
def written(source: str) -> list:
    make, options = SETS[source]
    return list(make(**options))


def in_columns(cell: Cell, examples: Name, label: str = "e.label") -> Cell:
    """Add the lines that make `texts` and `labels` of examples."""
    cell.let("examples", Name(f"list({examples})"))
    cell.let("texts", Name("[e.text for e in examples]"))
    cell.let("labels", Name(f"[{label} for e in examples]"))
    return cell


def own_texts() -> tuple[Sequence[str], Sequence[str], Cell]:
    label = "One text a line, with its label: `label | text`, or label, Tab, text"
    texts, labels = labelled_lines(state.linked_text(st.text_area, label, "lines", OWN_DEFAULT, height=220))
    texts, labels = list(bounded(texts, "lines")), labels[:MOST_TEXTS]
    cell = Cell()
    cell.lines += [f"texts = {texts!r}", f"labels = {labels!r}"]
    return texts, labels, cell


def labelled_lines(text: str) -> tuple[list[str], list[str]]:
    """Return texts and labels of lines `text`, `label<TAB>text` or `label | text`; blank lines are skipped."""
    rows = [BETWEEN.split(line.strip(), maxsplit=1) for line in text.splitlines() if line.strip()]
    return [row[-1] for row in rows], [row[0] if row[1:] else NO_LABEL for row in rows]


def bounded(texts: Sequence[str], kind: str) -> Sequence[str]:
    """Return at most MOST_TEXTS texts, and say what was cut. Raises InputError for fewer than three."""
    if len(texts) < 3:
        raise InputError(f"a projection needs at least three {kind} of text: add some")
    if len(texts) > MOST_TEXTS:
        text = f"There are more than {MOST_TEXTS} {kind}: only the first {MOST_TEXTS} are shown."
        st.warning(text, icon=":material/content_cut:")
    return texts[:MOST_TEXTS]


def uploaded_texts() -> tuple[Sequence[str], Sequence[str], Cell] | None:
    file = columns.kept_file(
        "A table of texts, with a column of labels if there are labels",
        FILE_TYPES,
        "meaning_file",
        MOST_MEGABYTES,
        "CSV or TSV whose first line names the columns, or JSON lines; or a text file without labels, one text "
        "a line. It stays on this server while your page is open, nobody else can see it, and no link contains it.",
    )
    if file is None:
        return None
    name, content = file
    key = sha256(content).hexdigest()
    found = columns.choose(columns.names_in(key, name, content), "meaning")
    texts, labels, left_out = file_texts(key, name, content, found)
    if left_out:
        st.warning(plain(left_out), icon=":material/content_cut:")
    return bounded(texts, "rows"), labels[:MOST_TEXTS], file_cell(name, found)


def file_cell(name: str, found: Columns) -> Cell:
    cell = Cell()
    cell.lines.append(f"# Put {ascii(name)} beside this notebook.")
    label = {"labelled": False} if found.label is None else {"label_column": found.label}
    table = cell.call(read_table, name, text_column=found.text, **label, skipped=Name(f"{cell.use(Skipped)}()"))
    first = Name(f"{cell.use(islice)}({table}, {MOST_TEXTS})")
    return in_columns(cell, first, repr(NO_LABEL) if found.label is None else "e.label")


@st.cache_data(max_entries=KEPT_FILES, show_spinner="Reading the file")
def file_texts(key: str, name: str, _content: bytes, found: Columns) -> tuple[list[str], list[str], str]:
    """Return texts and labels of the first rows, up to one more than are shown, and which rows were left out."""
    skipped = Skipped()
    options = ReadOptions(found, labelled=found.label is not None, skipped=skipped)
    with closing(columns.records(name, _content, skipped)) as records:
        kept = list(islice(text_examples(records, name, options), MOST_TEXTS + 1))
    return [e.text for e in kept], [str(e.label or NO_LABEL) for e in kept], str(skipped) if skipped.count else ""


def added() -> list[str]:
    """Return the visitor's own sentences, which stars mark in the pictures. At first it is the text of other pages."""
    carry()
    help = f"Up to {MOST_YOURS}; Shift+Enter begins another line. Stars mark them."
    label = "Your sentence: where does it land?"
    example = "The soup was cold, and the waiter forgot our drinks."
    typed = state.linked_text(st.text_area, label, "meaning_yours", placeholder=example, height=68, help=help)
    lines = [line.strip() for line in typed.splitlines() if line.strip()]
    if len(lines) > MOST_YOURS:
        st.warning(f"Only the first {MOST_YOURS} of {len(lines)} are added.", icon=":material/content_cut:")
    return lines[:MOST_YOURS]


def carry() -> None:
    """Bring along a text that the visitor wrote on another page, once, unless other sentences are in the field."""
    text, before = st.session_state.get("text", ""), st.session_state.get("carried", "")
    own = "" if text in st.session_state.get("offered", {}) else " ".join(text.split())
    if own not in ("", before) and st.session_state.get("meaning_yours", "") in ("", before):
        st.session_state.carried = st.session_state.meaning_yours = own
