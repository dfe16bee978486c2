"""The page of masked words in a real browser: clicks on tokens, tabs in the link, a narrow screen."""

import pytest

pytestmark = pytest.mark.browser
TABS = ["Fill in", "Layer by layer", "Whole text", "Pretraining's draw", "Next sentence"]
MAIN = "[data-testid=stMain]"


def show(tab, server, link=""):
    tab.goto(f"{server}/{link}")
    tab.get_by_role("heading", level=1).wait_for()
    settle(tab)


def settle(tab):
    tab.wait_for_timeout(300)
    tab.wait_for_function(
        "!document.querySelector('[data-testid=stStatusWidget], [data-testid=stSkeleton], [data-stale=true]')"
        " && document.querySelector('[data-testid=stExpander]')"
    )


def unharmed(tab):
    assert tab.outside == [] and tab.broken == []
    assert tab.locator("[data-testid=stAlertContentError]").count() == 0


def test_every_view_fits_a_phone_and_is_in_the_link(tab, server):
    tab.set_viewport_size({"width": 390, "height": 800})
    show(tab, server, "?text=my+dog+is+[MASK].&pair=he+likes+walks.")
    for name in TABS:
        tab.get_by_role("tab", name=name).click()
        settle(tab)
        tab.locator(f"{MAIN} [data-testid=stVegaLiteChart]").first.wait_for()
        width = tab.evaluate(f"(e => e.scrollWidth - e.clientWidth)(document.querySelector('{MAIN}'))")
        assert width == 0
        unharmed(tab)
    show(tab, server, tab.url.removeprefix(server).lstrip("/"))
    assert tab.get_by_role("tab", name=TABS[-1]).get_attribute("aria-selected") == "true"


def test_press_a_coloured_token(tab, server):
    show(tab, server, "?masking_tab=Whole+text&text=my+dog+is+[MASK].&pair=he+likes+walks.")
    chips = tab.locator(".st-key-sweep button")
    colours = [chips.nth(n).evaluate("e => getComputedStyle(e).backgroundColor") for n in (0, 1, 6)]
    depths = [float(colour.rpartition(",")[2].rstrip(")")) for colour in colours]
    assert depths[0] < 0.05 < depths[1] < depths[2]  # my, dog, walks
    chips.nth(1).click()
    tab.get_by_text("The model gives dog a chance of").wait_for()
    assert "at=1" in tab.url
    unharmed(tab)


def test_why_a_pressed_word_was_guessed(tab, server):
    show(tab, server, "?text=my+dog+is+hairy.")
    tab.locator("[data-testid=stButtonGroup]").nth(1).get_by_text("hairy", exact=True).click()
    tab.get_by_text("speak most for").wait_for()
    tab.wait_for_url("**mask=4*")
    unharmed(tab)
