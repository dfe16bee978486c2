"""The explorer: `bertlab explore`, or `streamlit run app/explore.py`."""

from pathlib import Path

import streamlit as st

from app.shared.page import frame

# Every page: its folder in app/views, which is its address too, with its title and icon. The first one opens first.
PAGES = {
    "play": ("Play", ":material/play_circle:"),
    "stories": ("Stories", ":material/tour:"),
    "attention": ("Attention heads", ":material/grid_on:"),
    "embeddings": ("[CLS] embeddings", ":material/scatter_plot:"),
    "spans": ("Answer spans", ":material/question_answer:"),
    "labels": ("Labels", ":material/label:"),
    "dataset": ("Data sets", ":material/table_chart:"),
    "training": ("Training", ":material/trending_up:"),
}
FIRST = next(iter(PAGES))
ADDRESSES = ("", *(name for name in PAGES if name != FIRST))  # the first page has no name in its address


def file_of(page: str) -> str:
    """Return the script of a page, as st.Page and st.page_link name it."""
    return f"views/{page}/page.py"


def main() -> None:
    # Streamlit would fetch an icon that is given by name from a font server.
    st.set_page_config("bertlab explorer", str(Path(__file__).with_name("icon.png")), layout="wide")
    frame.show()
    pages = [
        st.Page(file_of(name), title=title, icon=icon, url_path=name, default=name == FIRST)
        for name, (title, icon) in PAGES.items()
    ]
    page = st.navigation(pages)
    with frame.loading(page.title):
        # Not at the top: these load torch, for which the visitor of a new server would wait before an empty window.
        frame.import_altair()
        from app.shared.model import model_bar
        from app.shared.page import exports, state, stories

        st.session_state.page, st.session_state.not_in_link = page.url_path or FIRST, []
        stories.show(ADDRESSES, page.url_path)
        model_bar.show()
    st.session_state.links_to_show = []
    state.fill_from_row()
    page.run()
    exports.show_links()


if __name__ == "__main__":
    main()
