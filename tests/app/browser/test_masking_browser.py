"""The page of masked words in a real browser: clicks on tokens, tabs in the link, a narrow screen."""

import pytest
from browsing import MAIN, overflow, settle, show, unharmed

pytestmark = pytest.mark.browser
TABS = ["Fill in", "Layer by layer", "Whole text", "Pretraining's draw", "Next sentence"]


def test_every_view_fits_a_phone_and_is_in_the_link(tab, server):
    tab.set_viewport_size({"width": 390, "height": 800})
    show(tab, server, "masking", "?text=my+dog+is+[MASK].&pair=he+likes+walks.")
    for name in TABS:
        tab.get_by_role("tab", name=name).click()
        settle(tab)
        tab.locator(f"{MAIN} [data-testid=stVegaLiteChart]").first.wait_for()
        assert overflow(tab) == 0
        unharmed(tab)
    show(tab, server, "masking", "?" + tab.url.split("?")[1])
    assert tab.get_by_role("tab", name=TABS[-1]).get_attribute("aria-selected") == "true"


def test_press_a_coloured_token(tab, server):
    show(
        tab,
        server,
        "masking",
        "?model=storyworld-tiny&masking_tab=Whole+text&text=my+dog+is+[MASK].&pair=he+likes+walks.",
    )
    chips = tab.locator(".st-key-sweep button")
    colours = [chips.nth(n).evaluate("e => getComputedStyle(e).backgroundColor") for n in (0, 1, 6)]
    depths = [float(colour.rpartition(",")[2].rstrip(")")) for colour in colours]
    assert depths[0] < 0.05 < depths[1] < depths[2]  # my, dog, walks
    chips.nth(1).click()
    tab.get_by_text("The model gives dog a probability of").wait_for()
    assert "at=1" in tab.url
    unharmed(tab)


def test_why_a_pressed_word_was_guessed(tab, server):
    show(tab, server, "masking", "?model=storyworld-tiny&text=my+dog+is+hairy.")
    tab.locator("[data-testid=stButtonGroup]").nth(1).get_by_text("hairy", exact=True).click()
    tab.get_by_text("contribute most to").wait_for()
    tab.wait_for_url("**mask=4*")
    unharmed(tab)
