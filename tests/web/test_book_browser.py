"""The book: every page opens without another host, fits a phone, leads somewhere; its search finds the chapter."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from benchmarks.web.serving import served
from web.build import folder_bytes

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# What a learner types, and the chapter that should be among the first three.
QUESTIONS = {
    "WordPiece": "02_tokens",
    "position embeddings": "03_input_embeddings",
    "attention head query key": "04_attention",
    "residual connection": "05_encoder",
    "masked language model": "06_masked_language_model",
    "next sentence prediction": "07_next_sentence",
    "answer span": "12_where_the_answer_stands",
    "probes control task": "13_what_it_knows",
}


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src") and value]


def pages(site) -> list[str]:
    found = (path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return sorted(name for name in found if not name.startswith(("live/", "_static", "pagefind")))


def test_every_page_opens_alone_and_fits_a_phone(new_tab, whole_site, book):
    tab, wrong = new_tab(), []
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    tab.on("response", lambda answer: wrong.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
    assert len(pages(whole_site)) > 40
    for page in pages(whole_site):
        tab.goto(f"{book}/{page}", wait_until="load")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390, page
        broken = tab.evaluate("[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)")
        assert (broken, wrong, tab.outside, tab.broken) == ([], [], [], []), page


def test_no_output_waits_for_a_kernel(whole_site):
    for page in (whole_site / "notebooks").glob("[0-9]*.html"):
        text = page.read_text(encoding="utf-8")
        assert "Run this cell to get" not in text and "widget-view" not in text, page.name
        assert "of this panel work in the notebook" in text and f'href="{page.stem}.ipynb" download' in text
        assert (page.parent / f"{page.stem}.ipynb").is_file()
        assert not re.search(r'<div class="cell_output[^>]*>\s*</div>', text), f"{page.name}: a blank output"


# What the panels of a chapter show, and the link to the live page with the same text.
SAME_TEXT = {
    "00_tour": "?text=My+dog+is+___.",
    "04_attention": "?text=The+animal+didn%27t+cross+the+street+because+the+___+was+too+wide.",
    "11_every_token": "?task=names&amp;read=Rose+Hill+gave",
    "12_where_the_answer_stands": "?task=answers&amp;ask=Where+did+Mark+wait%3F&amp;read=Ruth+Hill",
}


def test_panels_lead_to_the_live_page_with_their_text(whole_site):
    for name, query in SAME_TEXT.items():
        assert f'href="../live/{query}' in (whole_site / "notebooks" / f"{name}.html").read_text(encoding="utf-8"), name


def test_every_link_leads_somewhere(whole_site):
    dead = set()
    for page in pages(whole_site):
        links = Links()
        links.feed((whole_site / page).read_text(encoding="utf-8"))
        for link in map(urlsplit, links.found):
            target = (whole_site / page).parent / unquote(link.path)
            if not link.scheme and link.path and not (target.exists() or target.joinpath("index.html").exists()):
                dead.add((page, link.path))
    assert not dead


def test_formulas_need_no_script_and_solutions_are_folded(tab, book):
    tab.goto(f"{book}/notebooks/04_attention.html")
    box = tab.locator("math[display=block]").first.bounding_box()
    assert box["height"] > 30 and tab.locator("mjx-container").count() == 0
    assert tab.locator("details").count() and not tab.locator("article details[open]").count()


def test_a_learners_words_find_the_chapter(tab, book):
    for question, chapter in QUESTIONS.items():
        tab.goto(f"{book}/search.html?q={question.replace(' ', '+')}")
        tab.locator("#found li").first.wait_for()
        first = [link.get_attribute("href") for link in tab.locator("#found a").all()[:3]]
        assert any(chapter in link for link in first), (question, first)
    assert tab.outside == [] and tab.broken == []


def test_a_result_leads_to_its_section(tab, book):
    tab.goto(f"{book}/search.html?q=why+divide+by+sqrt+d")
    tab.get_by_role("link", name="04 Attention › 3. Why divide by the square root of D?").click()
    there = "() => Math.abs(document.querySelector(location.hash)?.getBoundingClientRect().top) < innerHeight"
    tab.wait_for_function(there)  # the page glides there
    tab.goto(f"{book}/search.html?q=zebra+vs+gpt")  # no page has all of these words
    tab.locator("#found a").first.wait_for()
    assert tab.locator("#found mark").count() and tab.broken == []


def test_words_of_a_table_are_whole_on_a_phone(tab, book):
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(f"{book}/notebooks/README.html")
    lines = """() => {
      const range = document.createRange(), cell = [...document.querySelectorAll("td")].at(3);
      const text = cell.querySelector("p") ?? cell;
      range.selectNodeContents(text);
      return [text.textContent, range.getClientRects().length];
    }"""
    assert tab.evaluate(lines) == ["Python", 1]


def test_a_visited_page_and_the_search_go_on_without_the_server(new_tab, whole_site):
    tab = new_tab()
    with served(whole_site) as site:
        tab.goto(f"{site}/index.html")
        tab.evaluate("navigator.serviceWorker.ready.then(() => true)")
        tab.wait_for_function("() => navigator.serviceWorker.controller")
        tab.goto(f"{site}/notebooks/04_attention.html")
        tab.goto(f"{site}/search.html?q=attention")
        tab.locator("#found li").first.wait_for()
        kept = """async () => {
          const [site] = (await caches.keys()).filter((name) => name.startsWith("bertlab-site"));
          const cache = await caches.open(site);
          const parts = async () => (await cache.keys()).filter(({ url }) => url.includes("/pagefind/"));
          while ((await parts()).length <= 20) await new Promise((go) => setTimeout(go, 50));
        }"""
        tab.evaluate(kept)  # wait_for_function does not await
    tab.goto(f"{site}/notebooks/04_attention.html")
    assert tab.locator("h1").first.text_content().startswith("04 Attention")
    tab.goto(f"{site}/search.html?q=wordpiece")
    tab.locator("#found li").first.wait_for()


def test_the_site_is_small(whole_site):
    assert folder_bytes(whole_site) < 40e6
    live = [path for path in (whole_site / "live").rglob("*") if path.is_file() and "models" not in path.parts]
    assert sum(path.stat().st_size for path in live if path.name != "stored.json") < 120_000
