"""What the address of a page remembers: texts, choices, and positions in the text."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote_plus

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

Examples = dict[str, dict[str, str]]  # name of an example -> the text of each field
ROW = "from"  # in the link that leads from a row of a data set to another page
MODELS = ("model", "folder", "step", "versus")  # in the link, on every page
LINK_CHARACTERS = 6_000  # servers refuse addresses much longer
FIELDS = {  # what the panel with the link calls the text of a field, if not by the key of the field
    "pair": "second text",
    "other": "other version",
    "meaning_yours": "sentences",
    "dataset_word": "word",
}
GAP = re.compile(r"(?<!\w)_{2,}(?!\w)|\[mask\]", re.IGNORECASE | re.ASCII)  # as a gap is typed
POSITIONS = ("mask", "gap", "at", "at-beside", "word", "follow")  # in the link: of one text only


def example_pills(label: str, examples: Examples, *, wrap: bool = False) -> None:
    """Show a row of examples. Each press writes the example's texts into the fields named by its keys. What does not
    fit into the row is scrolled to, or with `wrap` stands in another row, except on a phone."""

    def fill_fields() -> None:
        fill(examples.get(st.session_state.example_choice or "", {}))
        st.session_state.example_choice = None

    st.pills(label, list(examples), key="example_choice", on_change=fill_fields, wrap=wrap)


def fill(texts: dict[str, str]) -> None:
    """Write texts into the fields named by their keys; a new text leaves the other version of the old one, and the
    positions in it."""
    if "text" in texts:
        st.session_state.pop("other", None)
    st.session_state.update(texts)
    forget_positions()


def first_texts(examples: Examples, kind: str) -> dict[str, str]:
    """Return the texts of the first example, which fields open with. Call before the fields.

    Examples change with the model: fields that still hold those offered first before get these, as do fields with an
    example of another `kind`, from another page. The visitor's own text goes along.
    """
    texts = next(iter(examples.values()))
    key, field = f"first {' '.join(texts)}", next(iter(texts))
    before, offered = st.session_state.get(key), st.session_state.setdefault("offered", {})
    kept = before and all(st.session_state.get(field) == text for field, text in before.items())
    of_another = offered.get(st.session_state.get(field), kind) != kind
    if (of_another or kept and before != texts) and not went_back():
        fill(texts)
    st.session_state[key] = texts
    offered.update({example[field]: kind for example in examples.values()})
    return texts


def linked_text(field: Callable[..., str], label: str, key: str, default: str = "", **options) -> str:
    """Show a text field that all pages and the link remember. The link leaves out a text that is too long for it."""
    open_with(key, key, lambda linked: default if linked is None else with_gaps(linked))
    options = {"on_change": lambda: read_typed(key)} | options
    text = field(label, key=key, persist_state="session", **options)
    if text or not default:
        share(key, text if fits(text) and text != default else "")
    elif st.query_params.get_all(key) != [""]:  # emptied, which an address without the field would not say
        st.query_params[key] = ""
    if not fits(text):
        st.session_state.not_in_link.append(FIELDS.get(key, key))
    return text


def fits(text: str) -> bool:
    """Return whether a link may hold a text."""
    return len(quote_plus(text)) <= LINK_CHARACTERS


def linked_chip(
    label: str, names: Sequence[str], key: str, name: str, first: int = 0, counted: int = 0, field=st.pills, **options
) -> int:
    """Show chips with one pressed, at first the one that `name` in the link numbers, there `counted` from 0 or 1, or
    else the `first`. Returns its number, counted from 0."""
    numbers = {str(at + counted): at for at in range(len(names))}
    open_with(key, name, lambda linked: numbers.get(linked or "", first))
    fixed = dict(format_func=names.__getitem__, required=True, persist_state="session")
    chosen = field(label, range(len(names)), key=key, **fixed, **options)
    share(name, "" if chosen == first else str(chosen + counted))
    return chosen


def linked_select(label: str, names: Sequence[str], key: str, first: str, **options) -> str:
    """Show a list of names, of which the `first` is chosen at first. All pages and the link remember the choice, which
    a field that is bound to the link takes out of it with the page. `accept_new_options` allows other names."""
    free = options.get("accept_new_options")
    open_with(key, key, lambda linked: linked if linked in names or linked and free else first)
    chosen = st.selectbox(label, names, key=key, persist_state="session", **options)
    share(key, chosen if chosen and chosen != first else "")
    return chosen


def one_of(label: str, names: Iterable, key: str, place=st, **options):
    """Show names side by side, of which the first is chosen at first. The link holds the choice."""
    names = list(names)
    fixed = dict(default=names[0], required=True, key=key, bind="query-params")
    return place.segmented_control(label, names, **fixed, **options)


def open_with(key: str, name: str, read: Callable[[str | None], Any]) -> None:
    """Give a widget its first value: what `read` makes of `name` in the link. Call before the widget."""
    if unset(key):
        st.session_state[key] = read(link_value(name))
    keep(key)


def keep(key: str) -> None:
    """Keep a widget's first value, set in the session, on other pages too. Call before the widget.

    Streamlit forgets a value that nobody has changed by hand when the page changes.
    """
    page = st.session_state.get("page")
    if st.session_state.setdefault(f"{key} on page", page) != page:
        st.session_state[f"{key} on page"], st.session_state[key] = page, st.session_state[key]


def forget_positions() -> None:
    """Remove the positions from the link: a text has changed, and they mean nothing in another one."""
    for key in POSITIONS:
        share(key, "")


def read_typed(key: str) -> None:
    """Write [MASK] for each gap in a text that was typed, and forget the positions in the one before."""
    st.session_state[key] = with_gaps(st.session_state[key])
    forget_positions()


def with_gaps(text: str) -> str:
    """Return the text as BERT reads it: its gaps, typed ___ or [mask], as [MASK]."""
    return GAP.sub("[MASK]", text)


def text_fields(examples: Examples, kind: str) -> tuple[str, str | None]:
    """Show the fields for a text and an optional second one, which all pages share."""
    first = first_texts(examples, kind)
    left, right = st.columns([3, 2])
    text = linked_text(left.text_area, "Your text", "text", first["text"], height=68)
    usual = first["pair"] if text == first["text"] else ""
    label = "Second text" if first["pair"] else "Second text (optional)"  # of pairs it is not
    pair = linked_text(right.text_area, label, "pair", usual, height=68, placeholder=" ")
    return text, pair.strip() or None


def went_back() -> bool:
    """Return whether this run follows Back or Forward: then the address decides every choice, as when a link opens."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def unset(key: str) -> bool:
    """Return whether the address decides a choice: nobody has chosen yet, or the visitor went back to it."""
    return key not in st.session_state or went_back()


def link_value(key: str) -> str | None:
    """Return a value from the link that opened this session, or that Back restored; None once the page has run."""
    seen = st.session_state.setdefault("link_values_read", set())
    if key in seen and not went_back():
        return None
    seen.add(key)
    return st.query_params.get(key)


def fill_from_row() -> None:
    """Fill the fields of a page with the row of a data set whose link led here; in a new tab the link alone has it.
    Call before the page."""
    if ROW in st.query_params:
        fill(st.session_state.pop(ROW, {}))
        del st.query_params[ROW]


def number_in(text: str | None) -> int | None:
    """Return the whole number in a part of a link; None if it is none, or longer than any that a page writes."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else None


def share(key: str, value: str) -> None:
    """Put `value` into the page's address, or take it out if it is empty."""
    if value and st.query_params.get_all(key) != [value]:  # each write could be an entry in the browser's history
        st.query_params[key] = value
    elif not value and key in st.query_params:
        del st.query_params[key]
