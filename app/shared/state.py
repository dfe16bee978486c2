"""What all pages share: links, texts, views that fail alone, and one way to show trouble."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import quote_plus

import streamlit as st

from bertlab.errors import InputError, printable

DEFAULT_TEXT = "the animal didn't cross the street because the [MASK] was too tired."
LINK_CHARACTERS = 6_000  # servers refuse addresses much longer
PLACES = (
    "mask",
    "gap",
    "at",
    "at-beside",
    "word",
    "follow",
    "window",
)  # in the link: they mean nothing in another text


class Stopped(Exception):
    """The reader stopped what a view needs."""


@contextmanager
def box() -> Iterator[None]:
    """Around one view: what cannot be used is told in a box, never as a traceback, and the page goes on without it."""
    try:
        yield
    except Stopped:
        pass
    except InputError as error:
        message = str(error)
        st.error(plain(message[:1].upper() + message[1:]), icon=":material/edit:")
    except Exception as error:  # whatever breaks here must not take the rest of the page along
        logging.getLogger(__name__).exception("A view of the explorer failed")
        name = plain(type(error).__name__)
        st.error(
            f"This view failed ({name}); the others still work. The server's log tells more. "
            "Another text or another model may do.",
            icon=":material/error:",
        )


@contextmanager
def open_tab(page: str, names: Iterable[str]) -> Iterator[str]:
    """Around the one view of a page that is open, which the link names; gives its name."""
    made = st.tabs(list(names), key=f"{page}_tab", on_change="rerun", bind="query-params")
    tab, name = next((tab, name) for tab, name in zip(made, names, strict=True) if tab.open)
    with tab, box():
        yield name


def notices(dropped: int, unknown: int, total: int) -> None:
    """Say visibly what was cut off or could not be read."""
    if dropped:
        text = f"The text is longer than fits here: {dropped:,} tokens were left out, {total} are shown."
        st.warning(text, icon=":material/content_cut:")
    if unknown:
        text = f"{unknown} of {total} tokens are [UNK]: this model's vocabulary does not hold them."
        st.warning(text, icon=":material/help:")


# What Markdown, and Streamlit after it, makes something else of even where every sign is escaped: emoji and icons,
# arrows and dashes, addresses. An invisible joiner keeps the signs apart.
_JOINED = re.compile(r":(?=[\w/+-]+:)|:(?=//)|[-<>~](?=[-=>])|(?<=\bwww)(?=\.)|(?=@)", re.IGNORECASE)
JOINER = "\u2060"


def plain(text: str) -> str:
    """`text` on one line, with everything that Markdown would read as a command taken for what it is."""
    one_line = _JOINED.sub(lambda found: found[0] + JOINER, printable(" ".join(text.split())))
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", one_line)  # all ASCII punctuation


def signed(number: float, form: str = "+.2f") -> str:
    """A number as text, with a true minus sign."""
    return format(number, form).replace("-", "−")


def heading(title: str, lead: str) -> None:
    """Title of a page and the sentences that say what one sees."""
    st.title(title, anchor=False)
    st.markdown(lead)


def example_pills(label: str, examples: dict[str, dict[str, str]]) -> None:
    """A row of examples; pressing one writes its texts into the fields named by its keys, each time it is pressed."""

    def fill_in() -> None:
        st.session_state.update(examples.get(st.session_state.example_choice or "", {}))
        st.session_state.example_choice = None
        forget_places()

    st.pills(label, list(examples), key="example_choice", on_change=fill_in)


def linked_text(field: Callable, label: str, key: str, default: str = "", **options) -> str:
    """A text field kept over all pages and in the link; a text that a link cannot hold stays out of it."""
    if key not in st.session_state:
        linked = link_value(key)
        st.session_state[key] = default if linked is None else linked
    keep(key)
    text = field(label, key=key, persist_state="session", on_change=forget_places, **options)
    fits = len(quote_plus(text)) <= LINK_CHARACTERS
    share(key, text if fits and text != default else "")
    if default and not text:
        st.query_params[key] = ""
    if not fits:
        unlinked(label.lower())
        st.caption(f"{label}: too long for a link, so this page's address does not hold it.")
    return text


def unlinked(what: str) -> None:
    """Remember `what` the link of this page cannot hold; the panel with the link tells it."""
    st.session_state.not_in_link.append(what)


def keep(key: str) -> None:
    """Call before a widget whose first value stands in the session: on another page Streamlit forgets what nobody has
    changed by hand."""
    page = st.session_state.get("page")
    if st.session_state.setdefault(f"{key} on page", page) != page:
        st.session_state[f"{key} on page"], st.session_state[key] = page, st.session_state[key]


def forget_places() -> None:
    """A text has changed: what the link says of places in it goes."""
    for key in PLACES:
        share(key, "")


def text_fields(prefix: str = "", default: str = DEFAULT_TEXT) -> tuple[str, str | None]:
    """The reader's text and, beside it, an optional second one; fields of one prefix are one on all pages."""
    left, right = st.columns([3, 2])
    text = linked_text(left.text_area, "Your text", f"{prefix}text", default, height=85)
    pair = linked_text(right.text_area, "Second text (optional)", f"{prefix}pair", height=85)
    return text, pair.strip() or None


def chip_names(tokens: Sequence[str]) -> list[str]:
    """Labels for the chips. Streamlit tells chips apart by label, so equal tokens get invisible joiners."""
    return [plain(token) + JOINER * tokens[:i].count(token) for i, token in enumerate(tokens)]


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
