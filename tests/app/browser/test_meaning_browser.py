"""The points of the embeddings in a real browser: read by pointing, chosen by clicking."""

import pytest
from browsing import settle, show, unharmed

pytestmark = pytest.mark.browser


def test_point_at_a_text_click_it_and_move_the_layer(tab, server):
    show(tab, server, "meaning", "?model=storyworld-tiny")
    points = tab.locator("[data-testid=stVegaLiteChart]").first.locator(".mark-symbol.role-mark path")
    points.last.hover()  # drawn last, so no other lies on it
    tooltip = tab.locator("#vg-tooltip-element", has_text="240")
    tooltip.wait_for()
    read = tooltip.inner_text()
    points.last.click()
    tab.wait_for_url("**meaning_text=240*")
    settle(tab)
    quoted = tab.locator("blockquote").inner_text()
    assert quoted.partition(": ")[2] in read
    assert tab.get_by_text("of the 5 nearest are").count() == 3
    link = tab.url.partition("?")[2]
    show(tab, server, "meaning", f"?{link}")
    assert tab.locator("blockquote").inner_text() == quoted
    slider = tab.get_by_role("slider").last  # of the layer
    slider.focus()
    slider.press("Home")
    tab.get_by_text("All points coincide").first.wait_for()
    unharmed(tab)
