"""The explorer: `bertlab explore`, or `streamlit run app/explore.py`."""

from functools import partial
from pathlib import Path

import streamlit as st

from app.shared.page import frame, moved

# Every page: its folder in app/views, which is its address too, with its title and icon. The first one opens first.
PAGES = {
    "play": ("Play", ":material/play_circle:"),
    "attention": ("Attention", ":material/grid_on:"),
    "meaning": ("Meaning", ":material/scatter_plot:"),
    "tasks": ("Tasks", ":material/task_alt:"),
    "training": ("Training", ":material/trending_up:"),
    "stories": ("Stories", ":material/tour:"),
}
FIRST = next(iter(PAGES))
ADDRESSES = ("", *(name for name in PAGES if name != FIRST))  # the first page has no name in its address


def file_of(page: str) -> str:
    """Return the script of a page, as st.Page and st.page_link name it."""
    return f"views/{page}/page.py"


def main() -> None:
    # Streamlit would fetch an icon that is given by name from a font server.
    st.set_page_config("bertlab explorer", str(Path(__file__).with_name("icon.png")), layout="wide")
    bar = frame.show()
    pages = [
        st.Page(file_of(name), title=title, icon=icon, url_path=name if name != FIRST else None, default=name == FIRST)
        for name, (title, icon) in PAGES.items()
    ]
    former = (*moved.PAGES, FIRST)  # the first page's own name is not its address
    old = [st.Page(partial(moved.lead_on, name), title=name, url_path=name, visibility="hidden") for name in former]
    page = st.navigation([*pages, *old], position="top")
    if page.url_path in former:
        page.run()
    with frame.loading(page.title):
        # Not at the top: these load torch, for which the visitor of a new server would wait before an empty window.
        frame.import_altair()
        from app.shared.model import model_bar
        from app.shared.page import exports, state, stories

        st.session_state.page, st.session_state.not_in_link = page.url_path or FIRST, []
        stories.show(ADDRESSES, page.url_path)
        model_bar.show(bar)
    st.session_state.links_to_show = []
    state.fill_from_row()
    page.run()
    exports.show_links()


if __name__ == "__main__":
    main()
