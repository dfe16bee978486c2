"""What every view gives away: its table, its picture as a file, the notebook cell that makes it, and its link."""

from base64 import b64encode
from collections.abc import Callable
from functools import partial
from time import time_ns
from urllib.parse import urlencode, urlsplit

import pandas as pd
import streamlit as st
from altair import TopLevelMixin

from app.shared.model import models
from app.shared.page import layout
from app.shared.page.markdown import plain
from bertlab.draw.charts.base import png, svg, web_page

ROWS_SHOWN = 2_000  # more rows make a browser slow; the CSV has all


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
