"""What every view gives away: its table, its picture as a file, the notebook cell that makes it, and its link."""

import inspect
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import partial
from time import time_ns
from typing import Any
from urllib.parse import urlencode, urlsplit

import pandas as pd
import streamlit as st
from altair import TopLevelMixin

import bertlab
from app.shared.model import models
from app.shared.page import layout
from app.shared.page.markdown import plain
from bertlab.draw.charts.base import png, svg, web_page
from bertlab.explain.ablation import random_control

ROWS_SHOWN = 2_000  # more rows make a browser slow; the CSV has all
FIRST = 3  # arguments that are written without their names: model, tokenizer and text


def exports(
    name: str, table: pd.DataFrame, code: str, chart: TopLevelMixin | None = None, page: str | None = None
) -> None:
    """Show the toolbar below a view. `name` names its files; `code` runs as it is in a notebook.

    `page` is the HTML of a view that is more than its chart.
    """
    with st.container(horizontal=True, gap="medium", key=f"tools {name}"):
        with st.popover("Share", icon=":material/share:", type="tertiary"):
            place, waiting = st.container(), st.session_state.get("links_to_show")
            if waiting is None:  # a fragment, which reruns without the rest of the page
                show_link(place)
            else:  # shown at the end of the page, since widgets below may still change the address
                waiting.append(place)
            if chart is not None:
                with st.container(horizontal=True, gap="medium"):
                    copy_picture(name, chart)
                    offer(name, "png", "image/png", partial(written, png, chart))
                    offer(name, "svg", "image/svg+xml", partial(written, svg, chart))
                    offer(name, "html", "text/html", page.encode if page else partial(written, web_page, chart, name))
        with st.popover("Data and code", icon=":material/table:", type="tertiary"):
            st.dataframe(table.head(ROWS_SHOWN), hide_index=True, height="auto" if len(table) < 10 else 320)
            if len(table) > ROWS_SHOWN:
                st.caption(f"Only the first {ROWS_SHOWN:,} of {len(table):,} rows are shown. The CSV file has all.")
            offer(name, "csv", "text/csv", lambda: table.to_csv(index=False).encode())
            st.caption("This code draws the same in a notebook or script:")
            st.code(code, language="python", wrap_lines=True)


def written(write: Callable[..., bytes], chart: TopLevelMixin, *details: str) -> bytes:
    """Return the chart as a file."""
    with layout.CHARTS:
        return write(chart, *details)


# A page that is not on localhost may use the clipboard over https alone, and in some browsers only right after a press.
COPY = """<span id="copied-NUMBER" role="status"></span><script>
(async () => {
  const say = (text) => { document.getElementById("copied-NUMBER").textContent = text; };
  try {
    const picture = Uint8Array.from(atob("PICTURE"), (letter) => letter.charCodeAt(0));
    const blob = new Blob([picture], { type: "image/png" });
    await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
    say("Copied.");
  } catch { say("This browser lets no page copy a picture here. Take the PNG instead."); }
})();
</script>"""


@st.fragment
def copy_picture(name: str, chart: TopLevelMixin) -> None:
    """Show a button that puts the picture on the visitor's clipboard; it alone is run again then."""
    if st.button("Copy picture", key=f"{name}-copy", type="tertiary", icon=":material/content_copy:"):
        picture, number = b64encode(written(png, chart)).decode(), str(time_ns())  # the same script is not run again
        st.html(COPY.replace("NUMBER", number).replace("PICTURE", picture), unsafe_allow_javascript=True)


def offer(name: str, kind: str, mime: str, make: Callable[[], bytes]) -> None:
    """Show a button that makes the file when it is pressed."""
    look = dict(key=f"{name}-{kind}", type="tertiary", icon=":material/download:")
    st.download_button(kind.upper(), make, f"{name}.{kind}", mime, on_click="ignore", **look)


def show_links() -> None:
    """Show all links of a page, at its end."""
    for container in st.session_state.links_to_show:
        show_link(container)
    st.session_state.links_to_show = None


def show_link(container) -> None:
    """Show this page's address with everything that was chosen on it."""
    page = urlsplit(st.context.url or "http://localhost:8501")
    query = urlencode([(key, value) for key in st.query_params for value in st.query_params.get_all(key)])
    missing = [f"your {what}" for what in st.session_state.not_in_link]
    missing += ["your uploaded model"] * bool(models.upload_name(models.chosen()))
    if missing:
        container.warning(f"This link does not contain {plain(' and '.join(missing))}.", icon=":material/link_off:")
    else:
        container.caption("Whoever opens it on this server sees what you see now:")
    container.code(page._replace(query=query).geturl(), language=None, wrap_lines=True)


class Name(str):
    """A variable or another expression of a cell. It stands as it is in the repr of a tuple, list or dict."""

    __repr__ = str.__str__


class Cell:
    """Lines that run as they are in a notebook or script."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}
        self.lines: list[str] = []
        self.opened: dict[str, tuple[Name, Name]] = {}  # model and tokenizer by the stamp of the model

    def copy(self) -> "Cell":
        return deepcopy(self)

    def use(self, thing: Any) -> Name:
        """Import a function or class."""
        name, parts = thing.__name__, thing.__module__.split(".")
        packages = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
        home = next(each for each in packages if getattr(sys.modules.get(each), name, None) is thing)
        self.imports.setdefault(home, set()).add(name)
        return Name(name)

    def call(self, function: Callable, *arguments, **options) -> Name:
        """Return function(*arguments, **options) as one writes it: without defaults, and what comes late by name."""
        given, signature, late = [], inspect.signature(function), False
        for number, (name, value) in enumerate(signature.bind(*arguments, **options).arguments.items()):
            if repr(value).startswith(f"{type(value).__name__}(") and type(value).__module__ != "builtins":
                self.use(type(value))
            usual = value == signature.parameters[name].default
            late |= usual or number >= FIRST or signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
            if not usual:
                given.append(f"{name}={value!r}" if late else repr(value))
        return Name(f"{self.use(function)}({', '.join(given)})")

    def let(self, name: str, value: Name) -> Name:
        """Add a line that gives a value a name."""
        self.lines.append(f"{name} = {value}")
        return Name(name)

    def open(self, loaded: models.Loaded) -> tuple[Name, Name]:
        """Add the lines that open a model and its tokenizer, unless they are there."""
        if loaded.stamp not in self.opened:
            trained = self.opened.get(loaded.stamp.removeprefix(models.CONTROL))
            if loaded.random and trained:
                self.opened[loaded.stamp] = self.let("untrained", self.call(random_control, trained[0])), trained[1]
                return self.opened[loaded.stamp]
            number = f"_{len(self.opened) + 1}" * bool(self.opened)
            weights = Name(f"{self.use(type(loaded.model))}.from_pretrained({loaded.source!r})")
            model = self.let(f"model{number}", self.call(random_control, weights) if loaded.random else weights)
            tokenizer = Name(f"{self.use(bertlab.Tokenizer)}.from_pretrained({loaded.source!r})")
            self.opened[loaded.stamp] = model, self.let(f"tok{number}", tokenizer)
        return self.opened[loaded.stamp]

    def made(self, name: str, function: Callable, loaded: models.Loaded, *asked, rows: bool = False, **options) -> Name:
        """Add a line that computes function(model, tokenizer, *asked), or all `rows` that this yields."""
        made = self.call(function, *self.open(loaded), *asked, **options)
        return self.let(name, Name(f"list({made})") if rows else made)

    def both(self, function: Callable, loaded: models.Loaded, *arguments) -> list[Name]:
        """Add the line for a model, and the one for the same architecture with random weights."""
        control = models.control_of(loaded)
        return [self.made(name, function, one, *arguments) for name, one in (("found", loaded), ("control", control))]

    def each(self, function: Callable, asked: Mapping[str, tuple], **options) -> dict[str, Name]:
        """Add a line for each of several models: `asked` has for each the model and the other arguments."""
        named = enumerate(asked.items(), 1)
        return {name: self.made(f"found_{n}", function, *each, **options) for n, (name, each) in named}

    def shows(self, value: Name) -> str:
        """Return the cell, whose last line is what a notebook shows below it."""
        imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(self.imports.items())]
        return "\n".join([*imports, "", *self.lines, value])

    def beside(self, charts: Iterable[Name]) -> str:
        """Return the cell of charts that stand side by side."""
        self.imports.setdefault("altair", set()).add("hconcat")
        return self.shows(Name(f"hconcat({', '.join(charts)})"))

    def html(self, value: Name) -> str:
        """Return the cell of a value that is HTML."""
        self.imports.setdefault("IPython.display", set()).add("HTML")
        return self.shows(Name(f"HTML({value})"))

    def picture(self, function: Callable, *arguments, **options) -> str:
        """Return the cell that shows what a function draws."""
        return self.shows(self.call(function, *arguments, **options))
