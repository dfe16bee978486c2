"""The explorer: `bertlab explore`, or `streamlit run app/explore.py`."""

from pathlib import Path

import streamlit as st

from app.shared.page import frame

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


def lead_to_first() -> None:
    """Open the first page where its own name, which is not its address, was asked for."""
    st.switch_page(file_of(FIRST), query_params={key: st.query_params.get_all(key) for key in st.query_params})


def main() -> None:
    # Streamlit would fetch an icon that is given by name from a font server.
    st.set_page_config("bertlab explorer", str(Path(__file__).with_name("icon.png")), layout="wide")
    bar = frame.show()
    pages = [
        st.Page(file_of(name), title=title, icon=icon, url_path=name if name != FIRST else None, default=name == FIRST)
        for name, (title, icon) in PAGES.items()
    ]
    named = st.Page(lead_to_first, title=FIRST, url_path=FIRST, visibility="hidden")
    page = st.navigation([*pages, named], position="top")
    if page == named:
        page.run()
    with frame.loading(page.title):
        # Not at the top: these load torch, for which the visitor of a new server would wait before an empty window.
        frame.import_altair()
        from app.shared.model import model_bar, models
        from app.shared.page import exports, state, stories

        st.session_state.page, st.session_state.not_in_link = page.url_path or FIRST, []
        stories.show(ADDRESSES, page.url_path)
        model_bar.show(bar)
    st.session_state.links_to_show = []
    state.fill_from_row()
    page.run()
    if not st.session_state.shown_models[0]:  # a page that waits for a text or a file, or shows no model
        models.name_model(models.chosen())
    exports.show_links()


if __name__ == "__main__":
    main()
