"""Texts that Markdown would make something else of, in a real browser: each is shown letter by letter."""

from urllib.parse import urlencode

import pytest
from browsing import MAIN, show, unharmed

from app.shared.page.markdown import JOINER

pytestmark = pytest.mark.browser
ODD = [
    "# a heading and ## another",
    "www.x.com and http://x.com and a@x.com",
    ":material/home: and :smile: and :red[red]",
    "![p](http://elsewhere/x.png) and [q](http://elsewhere)",
    "*a* _b_ `c` ~~d~~ $e$ <b>f</b> & &amp; | g \\",
    "a -> b <- c -- d >= e",
]
MADE = "h1, h2, h3, h4, a, img, b, em, del, code, .katex, [data-testid=stIconMaterial]"


def shown(place) -> list[str]:
    return [text.replace(JOINER, "") for text in place.all_inner_texts()]


def test_odd_texts_are_shown_as_they_are(tab, server, folders):
    """One is quoted, and all others are its neighbours."""
    link = {"meaning_set": "my own lines", "meaning_text": "1", "folder": folders["pretrained"]}
    lines = [f"{'ab'[number % 2]}\t{text}" for number, text in enumerate(ODD)]
    show(tab, server, "meaning", "?" + urlencode(link | {"lines": "\n".join(lines)}))
    places = tab.locator(f"{MAIN} :is(blockquote, ol li)")
    places.first.wait_for()
    assert set(shown(places)) == {line.replace("\t", ": ") for line in lines}
    assert places.locator(MADE).count() == 0
    unharmed(tab)


def test_a_long_answer_is_shown_whole(tab, server):
    answer = "[data-testid=stMetricValue] p"
    show(tab, server, "tasks", "?tasks_tab=Answers")
    tab.locator(answer).first.evaluate("node => { node.textContent = 'one long answer '.repeat(30); }")
    widths = tab.locator(answer).first.evaluate("({parentElement: box}) => [box.scrollWidth, box.clientWidth]")
    assert widths[0] <= widths[1]
    unharmed(tab)
