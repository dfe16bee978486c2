"""The explorer in a real browser: open a page, wait until it is computed, and see that it came to no harm."""

from browser import PAGES
from browser import settle as nothing_is_computed

MAIN = "[data-testid=stMain]"


def show(tab, server: str, page: str, link: str = "") -> None:
    tab.goto(f"{server}/{PAGES[page]}{link}")
    tab.get_by_role("heading", level=1).wait_for()
    settle(tab)


def settle(tab) -> None:
    """Wait until a view is there and no part of the page is being computed or still a grey placeholder."""
    tab.locator("[data-testid=stExpander]").first.wait_for(state="attached")
    nothing_is_computed(tab)


def unharmed(tab) -> None:
    assert tab.outside == [], "requests beyond this machine"
    assert tab.broken == [], "errors in the page's JavaScript"
    assert tab.locator("[data-testid=stException]").count() == 0
    assert tab.locator("[data-testid=stAlertContentError]:visible").count() == 0


def overflow(tab) -> int:
    """By how many pixels the page is wider than its window."""
    return tab.evaluate(f"(e => e.scrollWidth - e.clientWidth)(document.querySelector('{MAIN}'))")
