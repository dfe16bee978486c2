"""The explorer: `bertlab explore`, or `streamlit run app/explore.py`."""

from pathlib import Path

import streamlit as st

# Every page: its folder in app/views, which is its address too, with its title and icon. The first one opens first.
PAGES = {
    "word": ("Follow one word", ":material/route:"),
    "stories": ("Stories", ":material/tour:"),
    "masking": ("Masked words", ":material/visibility_off:"),
    "attention": ("Attention heads", ":material/grid_on:"),
    "embeddings": ("[CLS] embeddings", ":material/scatter_plot:"),
    "spans": ("Answer spans", ":material/question_answer:"),
    "labels": ("Labels", ":material/label:"),
    "dataset": ("Data sets", ":material/table_chart:"),
    "training": ("Training", ":material/trending_up:"),
}
FIRST = next(iter(PAGES))
ADDRESSES = ("", *(name for name in PAGES if name != FIRST))  # the first page has no name in its address

STYLE = """<style>
[data-testid="stMainBlockContainer"] { max-width: 1180px; padding: 1.8rem 3rem 5rem; }
[data-testid="stMainBlockContainer"] [data-testid="stVerticalBlock"] { gap: .7rem; }
[data-testid="stMainBlockContainer"] h1 { font-size: 1.8rem; padding: 0 0 .3rem; }
[data-testid="stHeader"] { pointer-events: none; background: none; }
[data-testid="stHeader"] button { pointer-events: auto; }
.st-key-example_choice [data-testid="stButtonGroup"] { display: flex; align-items: center; gap: .8rem; }
.st-key-example_choice [data-testid="stWidgetLabel"] { flex: none; }
.st-key-example_choice [data-testid="stButtonGroup"] > :last-child { min-width: 0; }
[data-testid="stMainBlockContainer"] h3 { font-size: 1.4rem; padding-top: 1rem; }
[data-testid="stMarkdownContainer"] p { max-width: 46rem; }
[data-testid="stMainBlockContainer"] :is(input, textarea) { unicode-bidi: plaintext; text-align: start; }
[data-testid="stColumn"] { min-width: min(100%, 14rem); }
[data-testid="stMetricValue"] { font-size: 1.5rem; }
[data-testid="stStatusWidget"] button { display: none; }
.st-key-world p { text-align: start; }
@media (min-width: 641px) {
  .st-key-shown:has(p) { margin-bottom: -2.6rem; translate: 0 .6rem; }
  .st-key-shown p { max-width: none; text-align: end; }
}
.st-key-story { background: #edf4fa; padding: .6rem 1rem; }
.st-key-story p { font-size: .88rem; line-height: 1.4; max-width: none; }
:has(.st-key-story) .st-key-lead { display: none; }
@media (min-width: 641px) { :has(> .st-key-story) { position: sticky; top: 0; z-index: 9; } }
a.way { color: inherit; border: 1px solid rgba(128, 128, 128, .5); border-radius: 8px; padding: .2rem .6rem;
  font-size: .88rem; text-decoration: none; white-space: nowrap; }
a.way:is(:hover, :focus) { border-color: #0072B2; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 3.2rem 1rem 4rem; }
  [data-testid="stMainBlockContainer"] h1 { font-size: 1.5rem; }
  .st-key-lead, :has(> .st-key-lead) { order: 1; }
  [class*=st-key-tools-] { row-gap: 0; }
}
</style>"""


def file_of(page: str) -> str:
    """Return the script of a page, as st.Page and st.page_link name it."""
    return f"views/{page}/page.py"


def main() -> None:
    # Not at the top: these load torch, which PAGES alone does not need.
    from app.shared import exports, history, layout, model_bar, stories

    # Streamlit would fetch an icon that is given by name from a font server.
    st.set_page_config("bertlab explorer", str(Path(__file__).with_name("icon.png")), layout="wide")
    dark = layout.DARK if st.context.theme.type == "dark" else ""
    st.html(STYLE + dark + history.SCRIPT, unsafe_allow_javascript=True)
    pages = [
        st.Page(file_of(name), title=title, icon=icon, url_path=name, default=name == FIRST)
        for name, (title, icon) in PAGES.items()
    ]
    page = st.navigation(pages)
    st.session_state.page, st.session_state.not_in_link = page.url_path or FIRST, []
    stories.show(ADDRESSES, page.url_path)
    model_bar.show()
    st.session_state.links_to_show = []
    page.run()
    exports.show_links()


if __name__ == "__main__":
    main()
