"""A story in a real browser: a press goes on by one entry of the history, and Back goes back."""

import pytest
from browsing import overflow, settle, show, unharmed

pytestmark = pytest.mark.browser


def test_start_go_on_back_and_leave(tab, server):
    show(tab, server, "stories")
    entries = tab.evaluate("history.length")
    tab.get_by_role("link", name="Start ›").nth(2).click()
    tab.get_by_role("heading", name="Attention").wait_for()
    settle(tab)
    first = tab.url
    assert "story=03-it%2F1" in first and tab.evaluate("history.length") == entries + 1
    tab.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 300)")  # nothing lies on the story then
    tab.get_by_role("link", name="Next ›").click()
    tab.get_by_text("he or she?").wait_for()
    settle(tab)
    assert tab.evaluate("history.length") == entries + 2
    assert "queen" in tab.get_by_label("Your text").input_value()
    assert tab.locator(".full h4", has_text="Layer 2, head 4").count() == 2  # one for each version
    tab.go_back()
    tab.get_by_text("it or they?").wait_for()
    settle(tab)
    assert tab.url == first and "until it" in tab.get_by_label("Your text").input_value()
    tab.set_viewport_size({"width": 390, "height": 844})
    settle(tab)
    assert overflow(tab) == 0
    tab.get_by_role("button", name="close").click()
    tab.locator(".st-key-story").wait_for(state="detached")
    settle(tab)
    assert "story=" not in tab.url
    unharmed(tab)
