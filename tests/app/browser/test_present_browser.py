"""A presentation: large type, no side bar, and keys that step through a story or the pages."""

import pytest
from browsing import settle, show, unharmed

pytestmark = pytest.mark.browser
STORY = "?model=storyworld-tiny&text=The+soup+was+salty.&two=true&other=The+soup+was+not+salty.&story=2-negation/1"


def test_keys_step_through_the_pages_without_a_side_bar(tab, server):
    show(tab, server, "play")
    side = tab.locator("[data-testid=stSidebar]")
    size = tab.get_by_role("heading", level=1).bounding_box()["height"]
    assert side.is_visible()
    tab.locator(".st-key-present label").click()
    side.wait_for(state="hidden")
    assert "present=true" in tab.url and tab.get_by_role("heading", level=1).bounding_box()["height"] > 1.2 * size
    tab.locator("body").press("PageDown")
    tab.get_by_role("heading", name="Attention", exact=True).wait_for()
    settle(tab)
    assert side.is_hidden()
    tab.get_by_label("Your text").first.press("ArrowLeft")  # the caret moves, not the page
    tab.locator("h1").click()
    tab.keyboard.press("ArrowLeft")
    tab.get_by_role("heading", name="What word is hidden?").wait_for()
    unharmed(tab)


def test_a_key_reveals_what_a_station_means_and_then_goes_on(tab, server):
    show(tab, server, "tasks", f"{STORY}&present=true")
    meaning = tab.locator(".st-key-story").get_by_text("What it means.")
    assert not meaning.is_visible()
    tab.locator("h1").click()
    tab.keyboard.press("PageDown")
    meaning.wait_for()
    tab.keyboard.press("PageDown")
    tab.get_by_text("2 of 6").wait_for()
    settle(tab)
    assert "present=true" in tab.url and not meaning.is_visible()
    unharmed(tab)
