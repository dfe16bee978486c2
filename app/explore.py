"""The explorer: `bertlab explore`, or `streamlit run app/explore.py`."""

import sys
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
if str(HERE) not in sys.path:  # pages import their siblings by name
    sys.path.insert(0, str(HERE))

import exports  # noqa: E402
import model_bar  # noqa: E402

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
st.set_page_config(page_title="bertlab explorer", page_icon=str(HERE / "icon.png"), layout="wide")
st.html(STYLE)
page = st.navigation(
    [
        st.Page("views/masking.py", title="Masked words", icon=":material/visibility_off:", default=True),
        st.Page("views/attention.py", title="Attention heads", icon=":material/grid_on:"),
        st.Page("views/embeddings.py", title="[CLS] embeddings", icon=":material/scatter_plot:"),
        st.Page("views/spans.py", title="Answer spans", icon=":material/question_answer:"),
        st.Page("views/labels.py", title="Labels", icon=":material/label:"),
        st.Page("views/training.py", title="Training", icon=":material/trending_up:"),
    ]
)
st.session_state.page, st.session_state.not_in_link = page.url_path, []
model_bar.show()
st.session_state.link_places = []
page.run()
exports.show_links()
