"""How a page is laid out: its heading and tabs, views that fail alone, charts, and two models side by side."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from altair import TopLevelMixin

from app.shared.model import models
from app.shared.page.markdown import plain
from bertlab.draw.percent import percent
from bertlab.errors import InputError

ROWS_IN_SIGHT = 30  # rows of a chart that stand on the page without scrolling
SCROLLED_HEIGHT = 620  # pixels
BAR = st.column_config.ProgressColumn(format=" ", min_value=0, max_value=1)  # without the number, which stands beside
PERCENT = " "  # the name of a column
NUMBER = st.column_config.TextColumn("", width=70, alignment="right")
# Altair keeps in global variables how it turns a chart into JSON, and Streamlit changes them while it draws. Whoever
# draws a chart or writes one to a file holds this lock.
CHARTS = Lock()


class Stopped(Exception):
    """The visitor stopped the computation that a view needs."""


Item = TypeVar("Item")


def heading(title: str, lead: str) -> None:
    """Show the title of a page and the sentences that say what it is about."""
    st.title(title, anchor=False)
    with st.container(key="lead"):
        st.markdown(lead)


@contextmanager
def box() -> Iterator[None]:
    """Run one view. Show its errors in a box, never as a traceback, and let the rest of the page go on."""
    try:
        yield
    except Stopped:
        pass
    except InputError as error:
        message = str(error)
        st.error(plain(message[:1].upper() + message[1:]), icon=":material/edit:")
    except Exception as error:
        logging.getLogger(__name__).exception("A view of the explorer failed")
        name = plain(type(error).__name__)
        st.error(
            f"This view failed ({name}). The others still work, and the server's log has the details. "
            "Try another text or another model.",
            icon=":material/error:",
        )


@contextmanager
def open_tab(page: str, names: Iterable[str], default: str | None = None) -> Iterator[str]:
    """Show the tabs of a page and run the view of the one that is open. Yields its name; the link holds it too."""
    made = st.tabs(list(names), default=default, key=f"{page}_tab", on_change="rerun", bind="query-params")
    tab, name = next((tab, name) for tab, name in zip(made, names, strict=True) if tab.open)
    with tab, box():
        yield name


def notices(model: str, dropped: int, unknown: int, total: int) -> None:
    """Warn of tokens that a model cut off or does not have in its vocabulary."""
    name = f"**{models.readable(model)}**"
    if dropped:
        text = f"Only {total} tokens are read here for {name}: {dropped:,} were left out."
        st.warning(text, icon=":material/content_cut:")
    if unknown:
        text = f"{unknown} of {total} tokens are [UNK]: the vocabulary of {name} does not contain them."
        st.warning(text, icon=":material/help:")


def show_chart(chart: TopLevelMixin, alt: str, rows: int = 0, width: str = "stretch", **options) -> None:
    """Draw a chart, described by `alt` for screen readers. One with many `rows` scrolls, so each stays readable."""
    height = SCROLLED_HEIGHT if rows > ROWS_IN_SIGHT else "content"
    with st.container(height=height, width=width, border=False), CHARTS:
        chart = chart.properties(padding={"bottom": 6})  # Streamlit leaves a hole of 20 pixels below it
        st.altair_chart(chart, width=width, alt=alt, **options)


def show_shares(table: pd.DataFrame, column: str, columns: Mapping[str, Any] | None = None) -> None:
    """Show a table with bars in its `column` of probabilities, and other `columns` as configured."""
    drawn, config = with_bars(table, column)
    st.dataframe(drawn, hide_index=True, column_config={**config, **(columns or {})})


def with_bars(table: pd.DataFrame, column: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table with the numbers of its `column` in percent beside it, and how to show both."""
    drawn = table.copy()
    numbers = ["" if pd.isna(p) else percent(p) for p in drawn[column]]
    drawn.insert(drawn.columns.get_loc(column), PERCENT, numbers)
    return drawn, {PERCENT: NUMBER, column: BAR}


def in_columns(items: Collection[Item], gap: str = "medium") -> Iterator[Item]:
    """Yield the items, each inside a column of its own."""
    for column, item in zip(st.columns(len(items), gap=gap), items, strict=True):
        with column:
            yield item


def side_by_side(each: Sequence, view: Callable) -> None:
    """Show a view of one model over the whole width, or of two in columns with their names above."""
    if len(each) == 1:
        view(each[0])
        return
    for one in in_columns(each, "large"):
        with box():
            st.markdown(f"**{models.readable(one.loaded.name)}**")
            view(one)
