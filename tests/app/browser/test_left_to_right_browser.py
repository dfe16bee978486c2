"""Left to right in a real browser: a phone, the fold, and a text with marks of its own."""

import pytest
from browsing import MAIN, overflow, show, unharmed

pytestmark = pytest.mark.browser


def test_it_fits_a_phone(tab, server):
    tab.set_viewport_size({"width": 390, "height": 800})
    show(tab, server, "left_to_right")
    tab.get_by_text("From the left alone").wait_for()
    assert overflow(tab) == 0
    unharmed(tab)


def test_the_first_picture_is_above_the_fold(tab, server):
    tab.set_viewport_size({"width": 1280, "height": 800})
    show(tab, server, "left_to_right")
    box = tab.locator(f"{MAIN} [data-testid=stVegaLiteChart]").first.bounding_box()
    assert box["y"] + box["height"] < 800
    said = tab.get_by_text("From the left alone").bounding_box()
    assert said["y"] + said["height"] < box["y"]  # what the charts show, and then the charts


def test_words_of_the_visitor_stay_words(tab, server):
    show(tab, server, "left_to_right", "?sides_other=&sides_text=*a*+[MASK]+<b>b</b>+~~c~~")
    tab.get_by_text("*a* ▢ <b>b</b> ~~c~~").first.wait_for()
    tab.get_by_text("a clue on the left").click()
    tab.get_by_text("exactly the same").wait_for(state="detached")
    tab.get_by_text("birds", exact=False).first.wait_for()
    unharmed(tab)
