"""The page of comparisons in a real browser: a phone, the fold, and a text with marks of its own."""

import pytest
from browsing import MAIN, overflow, settle, show, unharmed

pytestmark = pytest.mark.browser
SIDE_BY_SIDE = "Left to right, or both sides"


def test_both_views_fit_a_phone_and_are_in_the_link(tab, server):
    tab.set_viewport_size({"width": 390, "height": 800})
    show(tab, server, "comparisons", "?comparison=features")
    tab.get_by_role("table").wait_for()
    tab.locator(f"{MAIN} [data-testid=stVegaLiteChart]").first.wait_for()
    assert overflow(tab) == 0
    tab.get_by_role("tab", name=SIDE_BY_SIDE).click()
    tab.get_by_text("From the left alone").wait_for()
    settle(tab)
    assert overflow(tab) == 0 and "comparisons_tab=" in tab.url
    unharmed(tab)


def test_the_first_picture_is_above_the_fold(tab, server):
    tab.set_viewport_size({"width": 1280, "height": 800})
    for link in ("", f"?comparisons_tab={SIDE_BY_SIDE.replace(' ', '+')}"):
        show(tab, server, "comparisons", link)
        box = tab.locator(f"{MAIN} [data-testid=stVegaLiteChart]").first.bounding_box()
        assert box["y"] + box["height"] < 800
    said = tab.get_by_text("From the left alone").bounding_box()
    assert said["y"] + said["height"] < box["y"]  # what the charts show, and then the charts


def test_words_of_the_visitor_stay_words(tab, server):
    link = f"?comparisons_tab={SIDE_BY_SIDE.replace(' ', '+')}&sides_other=&sides_text=*a*+[MASK]+<b>b</b>+~~c~~"
    show(tab, server, "comparisons", link)
    tab.get_by_text("*a* ▢ <b>b</b> ~~c~~").first.wait_for()
    tab.get_by_text("a clue on the left").click()
    tab.get_by_text("exactly the same").wait_for(state="detached")
    tab.get_by_text("birds", exact=False).first.wait_for()
    unharmed(tab)
