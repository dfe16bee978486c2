"""Heads switched off by a click, bertviz without a network, and answers in a real browser."""

import pytest
from browsing import settle, show, unharmed

pytestmark = pytest.mark.browser


def press_cell(tab, layer, head):
    """Press a cell of the first map, found by what its tooltip says."""
    cell = f"path[aria-label^='head: {head}; layer: {layer};']"
    tab.locator("[data-testid=stVegaLiteChart]").first.locator(cell).first.click(force=True)
    settle(tab)


def test_a_click_switches_a_head_off_and_on(tab, server):
    show(tab, server, "attention", "?model=storyworld-tiny&attention_tab=Switch+heads+off&off=1-2")
    tab.get_by_text("Without layer 1, head 2").wait_for()
    press_cell(tab, 3, 4)
    tab.get_by_text("Without layer 1, head 2 and layer 3, head 4").wait_for()
    assert "off=1-2&off=3-4" in tab.url
    press_cell(tab, 3, 4)
    press_cell(tab, 1, 2)
    tab.get_by_text("All heads are on").wait_for()
    tab.wait_for_url(lambda url: "3-4" not in url and "1-2" not in url)
    unharmed(tab)


def test_bertviz_fetches_nothing(tab, server):
    """Each of its views is drawn without a network in tests/draw."""
    link = "?model=storyworld-tiny&attention_tab=bertviz&text=%3Cscript%3Ewindow.top.hit%3D1%3C/script%3E"
    show(tab, server, "attention", link)
    frame = tab.frame_locator("[data-testid=stIFrame]")
    frame.locator("#vis svg line").first.wait_for(state="attached")
    assert tab.evaluate("window.hit") is None
    unharmed(tab)


def test_words_of_a_passage_are_shaded(tab, server):
    show(tab, server, "tasks", "?model=storyworld-tiny-qa")
    best = tab.locator(".passage .best")
    assert best.all_inner_texts() == ["bread"]
    assert "linear-gradient" in best.first.evaluate("word => getComputedStyle(word).backgroundImage")
    unharmed(tab)
