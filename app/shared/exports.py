"""What every view gives away: its table, its picture as files, the notebook cell that makes it, and its link."""

from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode, urlsplit

import pandas as pd
import streamlit as st
from streamlit.elements import vega_charts

from app.shared import models, state
from bertlab.draw.charts import base as charts

ROWS_SHOWN = 2_000  # a browser chokes on more; the CSV has all
# How Altair turns a chart into a picture is set in globals, and Streamlit changes them for a moment to draw one: who
# holds this lock has them alone.
ALTAIR_LOCK = vega_charts._altair_globals_lock


def exports(name: str, table: pd.DataFrame, code: str, chart=None) -> None:
    """`name` is that of the files, one for each view of a page; `code` runs as it stands in a notebook."""
    with st.container(gap="xsmall"):
        with st.expander("Table and downloads", icon=":material/table:"):
            show_table(table)
            with st.container(horizontal=True):
                offer(name, "csv", "text/csv", lambda: table.to_csv(index=False).encode())
                if chart is not None:
                    offer(name, "png", "image/png", partial(drawn, charts.png, chart))
                    offer(name, "svg", "image/svg+xml", partial(drawn, charts.svg, chart))
        with st.expander("Show me the cell", icon=":material/code:"):
            st.caption("The same in a notebook or script:")
            st.code(code, language="python")
        with st.expander("Link to this view", icon=":material/link:"):
            later(st.container())


def show_table(table: pd.DataFrame) -> None:
    st.dataframe(table.head(ROWS_SHOWN), hide_index=True, height="auto" if len(table) < 10 else 320)
    if len(table) > ROWS_SHOWN:
        st.caption(f"The first {ROWS_SHOWN:,} of {len(table):,} rows; the CSV has all.")


def drawn(make: Callable[..., bytes], chart) -> bytes:
    with ALTAIR_LOCK:
        return make(chart)


def offer(name: str, kind: str, mime: str, make) -> None:
    """A button that makes the file when it is pressed."""
    key = f"{name}-{kind}"
    st.download_button(kind.upper(), make, f"{name}.{kind}", mime, on_click="ignore", key=key)


def later(place) -> None:
    """Show the link in `place`: at the end of the page, since what stands below may still write into the address.

    A part of a page that is drawn anew by itself shows it at once.
    """
    places = st.session_state.get("link_places")
    if places is None:
        with place:
            show_link()
    else:
        places.append(place)


def show_links() -> None:
    """The end of a page: all its links."""
    for place in st.session_state.link_places:
        with place:
            show_link()
    st.session_state.link_places = None


def show_link() -> None:
    """This page's address with all that was chosen on it."""
    page = urlsplit(st.context.url or "http://localhost:8501")
    query = urlencode([(key, value) for key in st.query_params for value in st.query_params.get_all(key)])
    missing = [f"your {what}" for what in st.session_state.not_in_link]
    missing += ["your uploaded model"] * bool(models.upload_name(models.chosen()))
    if missing:
        st.warning(f"This link does not hold {state.plain(' and '.join(missing))}.", icon=":material/link_off:")
    else:
        st.caption("Who opens it on this server sees what you see now:")
    st.code(page._replace(query=query).geturl(), language=None, wrap_lines=True)
