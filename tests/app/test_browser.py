"""The explorer in a real browser: nothing leaves this machine, and what is clicked changes."""

import time

import pytest
from browser import PAGES
from browsing import settle, show, unharmed

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("page", PAGES)
def test_page_opens_fast_and_asks_nobody(tab, server, page):
    show(tab, server, page)  # the first time fills the caches
    start = time.monotonic()
    show(tab, server, page)
    assert time.monotonic() - start < 6  # about 1 s; loose, because machines that test are busy
    unharmed(tab)


def test_text_goes_along_from_page_to_page(tab, server):
    show(tab, server, "masking")
    field = tab.get_by_label("Your text")
    field.fill("my dog is [MASK].")
    field.press("Control+Enter")
    tab.wait_for_url("**text=my*")
    tab.get_by_role("link", name="Attention heads").click()
    tab.locator(".matrix").wait_for()
    assert tab.get_by_label("Your text").input_value() == "my dog is [MASK]."
    assert "text=my" in tab.url
    unharmed(tab)


def test_press_a_word(tab, server):
    show(tab, server, "masking")
    before = tab.locator("[data-testid=stVegaLiteChart]").count()
    tab.locator("[data-testid=stButtonGroup]").nth(1).get_by_text("because", exact=True).click()
    tab.locator("[data-testid=stVegaLiteChart]").nth(before).wait_for()
    assert "mask=" in tab.url
    unharmed(tab)


def test_script_in_a_text_stays_text(tab, server):
    evil = "%3Cimg%20src%3Dx%20onerror%3D%22window.hit%3D1%22%3E%20%3Cscript%3Ewindow.hit%3D1%3C/script%3E"
    for page in ("masking", "attention"):
        show(tab, server, page, f"?text={evil}%20[MASK]")
        assert tab.evaluate("window.hit") is None
        unharmed(tab)
    show(tab, server, "spans", f"?passage={evil}")
    assert tab.evaluate("window.hit") is None
    assert "<script>" in tab.locator(".passage").inner_text()
    unharmed(tab)
    show(tab, server, "labels", f"?label_text={evil}")
    assert tab.evaluate("window.hit") is None
    assert "<script>" in tab.locator(".passage").inner_text()
    unharmed(tab)


def test_move_the_layer(tab, server):
    show(tab, server, "embeddings")
    slider = tab.get_by_role("slider").last
    slider.focus()
    slider.press("Home")
    tab.get_by_text("All points are one").first.wait_for()
    unharmed(tab)


def test_ask_the_passage(tab, server):
    show(tab, server, "spans")
    field = tab.get_by_label("Your passage")
    field.fill("the dog sleeps. the cat eats.")
    field.press("Control+Enter")
    tab.locator(".passage", has_text="the cat eats.").wait_for()
    settle(tab)
    assert "passage=" in tab.url
    unharmed(tab)


def test_ask_where_a_label_came_from(tab, server):
    show(tab, server, "labels")
    assert tab.locator(".passage mark").all_inner_texts() == ["Ruth Hill person", "Lucky pet", "Ashford place"]
    tab.locator("[data-testid=stButtonGroup]").last.get_by_text("Ashford", exact=True).click()
    tab.get_by_text("What pushed “Ashford” to “B-place”").wait_for()
    assert "word=8" in tab.url
    unharmed(tab)


def test_downloads(tab, server):
    show(tab, server, "masking")
    tab.get_by_text("Table and downloads").first.click()
    for name, start in (("CSV", b"position,rank"), ("PNG", b"\x89PNG")):
        with tab.expect_download() as download:
            tab.get_by_role("button", name=name, exact=True).first.click()
        assert download.value.path().read_bytes().startswith(start)
    unharmed(tab)


def test_what_nobody_typed_is_there_on_the_next_page(tab, server):
    show(tab, server, "masking", "?mask=2")
    text = tab.get_by_label("Your text").input_value()
    tab.get_by_role("link", name="Attention heads").click()
    tab.locator(".matrix").wait_for()
    assert tab.get_by_label("Your text").input_value() == text != ""
    tab.get_by_role("link", name="Masked words").click()
    tab.wait_for_url("**mask=2*")
    settle(tab)
    assert tab.get_by_label("Your text").input_value() == text
    unharmed(tab)
