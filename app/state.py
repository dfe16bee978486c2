"""What all pages share: the chosen model, cached results, links, and one way to show trouble and tables."""

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote_plus

import pandas as pd
import streamlit as st

from bertlab import (
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    Tokenizer,
)
from bertlab.draw import charts
from bertlab.errors import InputError
from bertlab.explain.control import random_control
from bertlab.locate import bundled_models, locate
from bertlab.tasks.names import family_of

DEFAULT_MODEL, DEFAULT_QA = "storyworld-tiny", "storyworld-tiny-qa"
DEFAULT_TEXT = "the animal didn't cross the street because it was too [MASK]."
LINK_CHARACTERS = 6_000  # servers refuse addresses much longer
CLASSIFIER = "classifier"  # the heads for texts, words and choices all have this name
DRAWN_TOKENS = 128  # more than this nobody reads in a picture

# task -> model class, published name of the head that it needs, the bundled checkpoint that has it
TASKS = {
    "encoder": (BertModel, None, DEFAULT_MODEL),
    "fill": (BertForPreTraining, "cls.predictions", DEFAULT_MODEL),
    "answer": (BertForQuestionAnswering, "qa_outputs", DEFAULT_QA),
    "text label": (BertForSequenceClassification, CLASSIFIER, "storyworld-tiny-sentiment"),
    "word labels": (BertForTokenClassification, CLASSIFIER, "storyworld-tiny-entities"),
}


@dataclass(frozen=True)
class Loaded:
    """A model ready to use; `stamp` changes when the files in its folder do."""

    name: str
    stamp: str
    model: object
    tokenizer: Tokenizer
    lacks_head: bool = False

    @property
    def limit(self) -> int:
        return min(self.model.config.max_position_embeddings, DRAWN_TOKENS)


def choose_model() -> None:
    """The model field of the sidebar: a bundled checkpoint, or any folder or hub id typed by hand."""
    names = bundled_models() or [DEFAULT_MODEL]
    first = names.index(DEFAULT_MODEL) if DEFAULT_MODEL in names else 0
    with st.sidebar:
        st.selectbox("Bundled model", names, index=first, key="model", bind="query-params")
        linked_text(
            st.text_input,
            "or a folder or hub id",
            "folder",
            placeholder="runs/own-text",
            help="A folder with config.json and model.safetensors, for example one that `bertlab pretrain` "
            "wrote; or a BERT of the hub as org/name, the one thing here that uses the network.",
        )


def model_for(task: str) -> Loaded:
    """The chosen model with the head that `task` needs, or the bundled one that has it, saying so."""
    name = (st.session_state.get("folder") or "").strip() or st.session_state.get("model") or DEFAULT_MODEL
    loaded = _load(task, name)
    fallback = TASKS[task][2]
    if loaded.lacks_head and name != fallback:
        if name != DEFAULT_MODEL:  # the default and its fine-tuned twin need no explanation
            box = f"**{plain(name)}** has no head for this, so **{fallback}** is shown."
            st.info(box, icon=":material/info:")
        loaded = _load(task, fallback)
    if loaded.lacks_head:
        raise InputError(f"{loaded.name} has no trained head for this: choose another model")
    return loaded


def _load(task: str, name: str) -> Loaded:
    folder = locate(name)
    files = [path for path in folder.iterdir() if path.is_file()]
    stamp = f"{folder.resolve()} {max((path.stat().st_mtime_ns for path in files), default=0)}"
    return _open(task, name, stamp)


@st.cache_resource(max_entries=8, show_spinner="Opening the model")
def _open(task: str, name: str, stamp: str) -> Loaded:
    kind, head, _ = TASKS[task]
    if head == CLASSIFIER and getattr(family_of(name), "head", None) is not kind:
        return Loaded(name, stamp, None, None, lacks_head=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = kind.from_pretrained(name)
    lacks = head is not None and any(head in str(warning.message) for warning in caught)
    return Loaded(name, f"{task} {stamp}", model, Tokenizer.from_pretrained(name), lacks)


@st.cache_resource(max_entries=4, show_spinner=False)
def _control(stamp: str, _loaded: Loaded) -> Loaded:
    return Loaded("random weights", f"control {stamp}", random_control(_loaded.model), _loaded.tokenizer)


def control_of(loaded: Loaded) -> Loaded:
    """The same architecture with random weights."""
    return _control(loaded.stamp, loaded)


@st.cache_data(max_entries=200, show_spinner=False)
def _compute(name: str, stamp: str, arguments: tuple, _function: Callable, _loaded: Loaded):
    return _function(_loaded.model, _loaded.tokenizer, *arguments)


def compute(function: Callable, loaded: Loaded, *arguments):
    """function(model, tokenizer, *arguments), remembered for all sessions."""
    name = f"{function.__module__}.{function.__qualname__}"
    return _compute(name, loaded.stamp, arguments, function, loaded)


@contextmanager
def friendly() -> Iterator[None]:
    """Show what cannot be used in a box, never as a traceback, and stop the page there."""
    try:
        yield
    except InputError as error:
        message = str(error)
        st.error(plain(message[:1].upper() + message[1:]), icon=":material/edit:")
        st.stop()


def notices(dropped: int, unknown: int, total: int) -> None:
    """Say visibly what was cut off or could not be read."""
    if dropped:
        text = f"The text is longer than fits here: {dropped:,} tokens were left out, {total} are shown."
        st.warning(text, icon=":material/content_cut:")
    if unknown:
        text = f"{unknown} of {total} tokens are [UNK]: this model's vocabulary does not hold them."
        st.warning(text, icon=":material/help:")


def plain(text: str) -> str:
    """`text` with everything that Markdown would read as a command escaped."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!:$~<>|&])", r"\\\1", text)


def heading(title: str, lead: str) -> None:
    """Title of a page and the sentences that say what one sees."""
    st.title(title, anchor=False)
    st.markdown(lead)


def example_pills(label: str, examples: dict[str, dict[str, str]]) -> None:
    """A row of examples; choosing one writes its texts into the fields named by its keys."""

    def fill_in() -> None:
        for key, value in examples.get(st.session_state.example_choice or "", {}).items():
            st.session_state[key] = value

    st.pills(label, list(examples), key="example_choice", on_change=fill_in)


def linked_text(field: Callable, label: str, key: str, default: str = "", **options) -> str:
    """A text field kept over all pages and in the link; a text that a link cannot hold stays out of it."""
    if key not in st.session_state:
        st.session_state[key] = link_value(key) or default
    text = field(label, key=key, persist_state="session", **options)
    fits = len(quote_plus(text)) <= LINK_CHARACTERS
    share(key, text if fits and text != default else "")
    if not fits:
        st.caption(f"{label}: too long for a link, so this page's address does not hold it.")
    return text


def text_fields(prefix: str = "", default: str = DEFAULT_TEXT) -> tuple[str, str | None]:
    """The reader's text and, beside it, an optional second one; fields of one prefix are one on all pages."""
    left, right = st.columns([3, 2])
    text = linked_text(left.text_area, "Your text", f"{prefix}text", default, height=85)
    pair = linked_text(right.text_area, "Second text (optional)", f"{prefix}pair", height=85)
    return text, pair.strip() or None


def chip_names(tokens: Sequence[str]) -> list[str]:
    """Labels for the chips. Streamlit tells chips apart by label, so equal tokens get invisible joiners."""
    return [plain(token) + "\u2060" * tokens[:i].count(token) for i, token in enumerate(tokens)]


def link_value(key: str) -> str | None:
    """A value from the link that opened this session; None once the page has run."""
    seen = st.session_state.setdefault("link_values_read", set())
    if key in seen:
        return None
    seen.add(key)
    return st.query_params.get(key)


def share(key: str, value: str) -> None:
    """Keep `value` in the page's address, or take it out when it is empty."""
    if value:
        st.query_params[key] = value
    elif key in st.query_params:
        del st.query_params[key]


def exports(name: str, table: pd.DataFrame, code: str, chart=None) -> None:
    """The table behind a picture, its downloads, and the notebook cell that makes the same."""
    with st.expander("Table and downloads", icon=":material/table:"):
        st.dataframe(table, hide_index=True, height="auto" if len(table) < 10 else 320)
        with st.container(horizontal=True):
            csv = table.to_csv(index=False).encode()
            st.download_button("CSV", csv, f"{name}.csv", "text/csv", on_click="ignore", key=f"{name}-csv")
            if chart is not None:
                make = partial(charts.png, chart)
                st.download_button("PNG", make, f"{name}.png", "image/png", on_click="ignore", key=f"{name}-png")
    with st.expander("Show me the cell", icon=":material/code:"):
        st.caption("The same in a notebook or script:")
        st.code(code, language="python")
