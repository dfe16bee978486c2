"""The looks of every page, and what it does to the browser's history. Imports nothing heavy: it comes first."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

STYLE = """<style>
[data-testid="stMainBlockContainer"] { max-width: 1180px; padding: 4.4rem 3rem 5rem; }
[data-testid="stMainBlockContainer"] [data-testid="stVerticalBlock"] { gap: .7rem; }
[data-testid="stMainBlockContainer"] h1 { font-size: 1.8rem; padding: 0 0 .8rem; }
[data-testid="stHeader"] { border-bottom: 1px solid rgba(128, 128, 128, .25); }
[data-testid="stTopNav"] { max-width: calc(100vw - 33rem); }
.st-key-bar {  /* stands in the header, beside the pages */
  position: fixed; top: .65rem; right: 4.6rem; z-index: 999991; width: auto; max-width: 28.3rem;
}
@media (min-width: 1240px) {  /* room for the step of a snapshot */
  [data-testid="stTopNav"] { max-width: calc(100vw - 36.5rem); }
  .st-key-bar { max-width: 31.8rem; }
}
.st-key-bar, .st-key-model-bar { flex-wrap: nowrap; min-width: 0; }
.st-key-bar > * { flex: none; max-width: none; }
.st-key-bar > :has(.st-key-model-bar) { flex: 0 1 auto; }
.st-key-model-bar > :first-child { flex: 0 1 auto; min-width: 0; }
.st-key-model-bar p { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.st-key-example_choice [data-testid="stButtonGroup"] { display: flex; align-items: center; gap: .8rem; }
.st-key-example_choice [data-testid="stWidgetLabel"] { flex: none; }
.st-key-example_choice [data-testid="stButtonGroup"] > :last-child { min-width: 0; }
[data-testid="stMainBlockContainer"] h3 { font-size: 1.4rem; padding-top: 1rem; }
.st-key-answers [data-testid="stVerticalBlock"] h3 { padding-top: 0; }
[data-testid="stMarkdownContainer"] p { max-width: 46rem; }
[data-testid="stMainBlockContainer"] :is(input, textarea) { unicode-bidi: plaintext; text-align: start; }
[data-testid="stMainBlockContainer"] textarea {  /* as high as its text */
  field-sizing: content; height: auto !important; min-height: 0; max-height: 40vh; resize: none;
}
[data-testid="stColumn"] { min-width: min(100%, 14rem); }
[data-testid="stColumn"] [data-testid="stVegaLiteChart"] svg { max-width: 100%; height: auto; }
/* Enter applies a text, but not the lines of the visitor (SCRIPT): Streamlit says that only Ctrl+Enter does. */
:not(.st-key-lines) > [data-testid="stTextArea"] [data-testid="InputInstructions"] { font-size: 0; }
:not(.st-key-lines) > [data-testid="stTextArea"] [data-testid="InputInstructions"]::after {
  content: "Enter applies"; font-size: .75rem;
}
[data-testid="stMetricValue"] { font-size: 1.5rem; }
.st-key-chosen-step { box-shadow: 0 4px #7f7f7f80; }
[data-testid="stMetricValue"] * { white-space: normal !important; overflow-wrap: anywhere; }
[data-testid="stStatusWidget"] button { display: none; }
[data-testid="stFullScreenFrame"]:has([data-testid="stVegaLiteChart"]) [data-testid="stElementToolbar"] {
  display: none;  /* it lies on what stands above a chart, and each view has a toolbar of its own */
}
[data-testid="stPopoverBody"]:has([data-testid="stDataFrame"]) { width: min(46rem, 94vw); }
[data-testid="stPopoverBody"]:has(.st-key-models) { width: min(25rem, 94vw); }
.st-key-stories [data-testid=stVerticalBlock] > [data-testid=stLayoutWrapper]:last-child { margin-top: auto; }
.st-key-sentences > * { min-width: min(100%, 20rem); }
.st-key-world p { text-align: start; }
.st-key-story { background: #edf4fa; padding: .6rem 1rem; }
.st-key-story p { font-size: .88rem; line-height: 1.4; max-width: none; }
:has(.st-key-story) :is(.st-key-lead, .st-key-intro, .st-key-example_choice, .st-key-two) { display: none; }
:has(.st-key-story) :is([data-testid=stTextArea], [data-testid=stTextInput]) label { display: none; }
:has(.st-key-story) h1 { font-size: 1.1rem !important; padding-bottom: 0; }
:has(.st-key-story) :is([data-testid=stColumn]:has([aria-label^="Second text ("]:placeholder-shown),
  [data-testid=stTextInput]:has([aria-label^="Another version"]:placeholder-shown)) { display: none; }
@media (min-width: 641px) { :has(> .st-key-story) { position: sticky; top: 0; z-index: 9; } }
a.way { color: inherit; border: 1px solid rgba(128, 128, 128, .5); border-radius: 8px; padding: .2rem .6rem;
  font-size: .88rem; text-decoration: none; white-space: nowrap; }
a.way:is(:hover, :focus) { border-color: #0072B2; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 4.2rem 1rem 4rem; }
  .st-key-bar { max-width: calc(100vw - 6.6rem); right: 3.2rem; }
  .st-key-present { display: none; }
  [data-testid="stMainBlockContainer"] h1 { font-size: 1.5rem; }
  [data-testid="stStatusWidget"] { visibility: hidden; }  /* it would lie on the name of the model */
  .st-key-example_choice [data-testid="stButtonGroup"] > :last-child { flex-wrap: nowrap; overflow-x: auto; }
  .st-key-example_choice [data-testid="stButtonGroup"] button { flex: none; }
  .st-key-story [data-testid=stHorizontalBlock] { row-gap: .2rem; }
  [class*=st-key-tools-], [class*=st-key-numbers-] { row-gap: 0; }
}
</style>"""

# The blue of the charts is too dark on a dark page, and a lighter one too near to the second blue. Vega writes colours
# as attributes, which CSS overrides.
DARK = """<style>
[data-testid=stVegaLiteChart] svg [fill="#0072B2"] { fill: #4aa8e8; }
[data-testid=stVegaLiteChart] svg [stroke="#0072B2"] { stroke: #4aa8e8; }
[data-testid=stVegaLiteChart] svg [fill="#56B4E9"] { fill: #c3e6fb; }
[data-testid=stVegaLiteChart] svg [stroke="#56B4E9"] { stroke: #c3e6fb; }
[data-testid=stHtml] [style="color:#0072B2"] { color: #4aa8e8 !important; }
[data-testid=stHtml] [style="color:#56B4E9"] { color: #c3e6fb !important; }
[data-testid=stHtml] .large b { border-color: #4aa8e8 !important; }
.st-key-story { background: #16222b !important; }
</style>"""

# Large type and no header, for a projector.
PRESENTED = """<style>
@media (min-width: 641px) {
  [data-testid=stHeader] { visibility: hidden; }
  .st-key-bar { top: .2rem; right: .6rem; }
  .st-key-model-bar { display: none; }
  [data-testid=stMainBlockContainer] { zoom: 1.3; padding-top: 1rem; padding-bottom: 2rem; }
  /* Streamlit makes charts and tables as wide as it measures their place, which is zoomed: narrow that. */
  :has(> :is([data-testid=stVegaLiteChart].fit-x, [data-testid=stDataFrame])) { width: calc(100% / 1.3) !important; }
  [data-testid=stVegaLiteChart].fit-x svg { width: 130% !important; max-width: none !important; height: auto; }
}
/* A story stands beside what it speaks of, with all of that in sight. */
@media (min-width: 900px) {
  [data-testid=stMainBlockContainer]:has(.st-key-story) {
    max-width: none; padding: .4rem .6rem 2rem 14.6rem; --controls: none;
  }
  :has(> .st-key-story) { position: fixed; top: .8rem; left: .6rem; width: 13.4rem; }
  .st-key-story { max-height: calc(100vh / 1.3 - 1.6rem); overflow-y: auto; }
  .st-key-story [data-testid=stHorizontalBlock] { gap: .2rem .4rem; }
  .st-key-story a.way { padding: .1rem .3rem; font-size: .8rem; }
  :has(.st-key-story) [data-testid=stColumn] { min-width: 8rem; }
}
.st-key-lead, [class*=st-key-tools-] { display: none; }
</style>"""

SCRIPT = """<script>
if (!window.explorerFramed) {
  window.explorerFramed = true;

  // Streamlit replaces the address for some widgets and adds an entry for every other write to it. Here the first
  // change of the address after a press or a key adds an entry, and all that follow from it change that entry.
  let acted = false;
  const { pushState, replaceState } = window.history;
  for (const kind of ["pointerdown", "keydown"])
    window.addEventListener(kind, (event) => { acted ||= event.isTrusted; }, true);
  window.addEventListener("popstate", () => { acted = false; }, true);
  window.history.pushState = window.history.replaceState = (state, unused, address) => {
    if (new URL(address ?? "", location.href).href === location.href) return;
    (acted ? pushState : replaceState).call(window.history, state, unused, address);
    acted = false;
  };

  // In a presentation the arrow keys and those of a clicker step through the story that is followed, where they reveal
  // what it says first, or else through the pages.
  const ways = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
  const own =
    "input:not([type=checkbox]), textarea, iframe, [role=slider], [role=tab], [role=radio], [data-testid^=stBidi]";
  window.addEventListener("keydown", (event) => {
    const way = ways[event.key], all = (part) => [...document.querySelectorAll(part)];
    if (!way || event.target.closest?.(own) || !all(".st-key-present input:checked").length) return;
    event.preventDefault();
    const hidden = way > 0 && document.querySelector(".st-key-story details:not([open]) summary");
    if (hidden) return hidden.click();
    if (document.querySelector(".st-key-story"))
      return all(".st-key-story a.way").find((link) => link.text.includes(way > 0 ? "Next" : "Previous"))?.click();
    const pages = all("[data-testid=stTopNavLink]");
    pages[pages.findIndex((page) => page.hasAttribute("aria-current")) + way]?.click();
  });

  // Streamlit applies a text area on Ctrl+Enter alone. Here Enter does, and Shift+Enter begins a line.
  window.addEventListener("keydown", (event) => {
    const { key, target, shiftKey, ctrlKey, metaKey, isComposing } = event;
    const field = target.matches?.("[data-testid=stTextArea] textarea") && !target.closest(".st-key-lines");
    if (key !== "Enter" || shiftKey || ctrlKey || metaKey || isComposing || !field) return;
    event.preventDefault();
    target.dispatchEvent(new KeyboardEvent("keydown", { key, ctrlKey: true, bubbles: true }));
  });
}
</script>"""

READY = Event()  # set once a visitor has seen a whole page


def show() -> DeltaGenerator:
    """Give the page its looks, and its history in the browser. Returns where the model stands, in the header."""
    dark = DARK if st.context.theme.type == "dark" else ""
    large = PRESENTED if presented() else ""
    st.html(STYLE + dark + large + SCRIPT, unsafe_allow_javascript=True)
    help = "Large type and no menus. The arrow keys step through a story, or else through the pages."
    row = dict(horizontal=True, horizontal_alignment="right", vertical_alignment="center", gap="small")
    with st.container(**row, key="bar"):
        place = st.container(**row, key="model-bar", width="content")
        st.toggle("Present", key="present", bind="query-params", persist_state="session", help=help)
    return place


def presented() -> bool:
    """Return whether the page is shown to a class."""
    return st.session_state.get("present", st.query_params.get("present") == "true")


@contextmanager
def loading(title: str) -> Iterator[None]:
    """Show the title of a page and that it is loading, while a server that was just started imports what it needs."""
    place = st.empty()
    if not READY.is_set():
        with place.container():
            st.title(title, anchor=False)
            st.caption("Loading the explorer and its model …")
    yield
    READY.set()
    place.empty()


def import_altair() -> None:
    """Import Altair without a grammar that jsonschema would build for seconds: of a kind of address no chart has."""
    grammar = "rfc3987_syntax"
    if grammar in sys.modules:
        return
    sys.modules[grammar] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        import altair  # noqa: F401
    finally:
        del sys.modules[grammar]
