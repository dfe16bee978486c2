"""The explorer: `bertlab explore`, or `streamlit run app/explore.py`."""

from pathlib import Path

import streamlit as st

from app.shared import exports, model_bar

PAGES = {  # each a folder of app/pages: its title and icon
    "masking": ("Masked words", ":material/visibility_off:"),
    "attention": ("Attention heads", ":material/grid_on:"),
    "embeddings": ("[CLS] embeddings", ":material/scatter_plot:"),
    "spans": ("Answer spans", ":material/question_answer:"),
    "labels": ("Labels", ":material/label:"),
    "training": ("Training", ":material/trending_up:"),
}

STYLE = """<style>
[data-testid="stMainBlockContainer"] { max-width: 1180px; padding: 4rem 3rem 5rem; }
[data-testid="stMainBlockContainer"] h1 { font-size: 2.1rem; padding-bottom: .3rem; }
[data-testid="stMainBlockContainer"] h3 { font-size: 1.4rem; padding-top: 2rem; }
[data-testid="stMarkdownContainer"] p { max-width: 46rem; }
[data-testid="stColumn"] { min-width: min(100%, 14rem); }
[data-testid="stMetricValue"] { font-size: 1.5rem; }
[data-testid="stStatusWidget"] button { display: none; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 4rem 1rem; }
  [data-testid="stMainBlockContainer"] h1 { font-size: 1.7rem; }
}
</style>"""

# An icon by name would be fetched from a font server.
st.set_page_config(page_title="bertlab explorer", page_icon=str(Path(__file__).with_name("icon.png")), layout="wide")
st.html(STYLE)
page = st.navigation(
    [
        st.Page(f"pages/{name}/page.py", title=title, icon=icon, url_path=name, default=name == "masking")
        for name, (title, icon) in PAGES.items()
    ]
)
st.session_state.page, st.session_state.not_in_link = page.url_path, []
model_bar.show()
st.session_state.link_places = []
page.run()
exports.show_links()
