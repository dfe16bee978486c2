"""The explorer without a browser: open a page with a link, read what it says, run the cells that it offers."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from app.explore import FIRST

APP = Path(__file__).parents[2] / "app" / "explore.py"
TINY = "storyworld-tiny"
LONGEST = 500  # seconds of one run, for a page that hangs: pytest ends a test after 600
ODD = {
    "html": "<script>alert(1)</script> <b>bold</b> [MASK]",
    "markdown": "*a* `b` $c$ [d](e) :smile: # f [MASK]",
    "controls": "a\x00b\x1b[31m c\u202e d [MASK]",
    "right to left": "שלום עולם مرحبا [MASK]",
    "chinese": "动物没有过马路 [MASK]",
    "emoji": "👩‍👩‍👧 🐕 [mask]",
    "one word": "word",
    "only marks": "[MASK] [MASK] [CLS] [SEP]",
    "very long": "word " * 2_000 + "[MASK]",
    "one long word": "w" * 50_000,
}
MARKED = ["html", "right to left", "emoji", "only marks", "very long"]  # for pages that mark letters of a text


def opened(page: str = FIRST, ask: bool = False, **link) -> AppTest:
    """A page as the reader of this link first sees it; unless `ask`, as one who has said yes to what it opens."""
    app = AppTest.from_file(str(APP), default_timeout=LONGEST)
    if page != FIRST:
        app._page_hash = calc_hash(page)  # switch_page() knows only after a run which file has which address
    for key, value in link.items():
        app.query_params[key] = value
    if not ask:
        app.session_state.permitted = {str(link.get(key)).partition("/step-")[0] for key in ("folder", "versus", "run")}
    return app.run()


def one_of_each(links: Iterable[tuple[str, dict]]) -> list[tuple[str, dict]]:
    """The links, but one alone of those that differ in what was typed or in the number of a head, and in nothing else
    that is chosen."""
    typed = {"text", "other", "pair", "question", "passage", "next_text", "next_pair", "film_pair"}
    typed |= {"head", "off", "film_head"}
    found: dict = {}
    for page, link in links:
        kind = page, *sorted((key, "" if key in typed else str(value)) for key, value in link.items())
        found.setdefault(kind, (page, link))
    return [*found.values()]


def fine(app: AppTest) -> bool:
    return not app.exception and not app.error


def boxes(app: AppTest) -> str:
    """What went wrong or is worth a warning."""
    return _read([*app.error, *app.warning, *app.info])


def said(app: AppTest) -> str:
    """The boxes and the prose. How text is kept from being read as Markdown is tested in a browser."""
    return f"{boxes(app)} {_read([*app.main.markdown, *app.main.caption])}"


def facts(app: AppTest) -> str:
    """What the dialog says of the model in place."""
    return _read([caption for caption in app.main.caption if "parameters" in caption.value])


def _read(elements) -> str:
    return (
        " ".join(element.value for element in elements).replace("\\", "").replace("\u2060", "").replace("\u00a0", " ")
    )


def tables(app: AppTest) -> list[pd.DataFrame]:
    return [table.value for table in app.main.dataframe]


def cells(app: AppTest) -> list[str]:
    return [code.value for code in app.main.code if code.language == "python"]


def run(code: str) -> tuple[object, dict]:
    """What the last line of a cell gives, and the names that the cell made."""
    *body, last = code.splitlines()
    names: dict = {}
    exec("\n".join(body), names)
    return eval(last, names), names
