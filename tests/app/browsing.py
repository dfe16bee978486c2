"""The explorer in a real browser: open a page, wait until it is computed, and see that it came to no harm."""

import re

from benchmarks.explorer.browser import BUSY, PAGES

MAIN = "[data-testid=stMain]"
# A press is on its way to the server for a while, longer on a busy machine. An answer to a later question tells that it
# has arrived; the pauses are for fields that wait for the next key before they report.
ARRIVED = """async () => {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((go) => setTimeout(go, 100));
    await fetch("/_stcore/health");
  }
}"""
# On a busy machine the app has been seen to be gone from the page for a moment: then it is not idle.
IDLE = f"""!document.querySelector('{BUSY}') &&
  document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'"""

# A component's own script draws it, after the page says that it is done.
DRAWN = """[...document.querySelectorAll('[data-testid=stBidiComponentRegular], [data-testid=stBidiComponentIsolated]')]
  .every((host) => {
    const root = [host, ...host.querySelectorAll('*')].map((node) => node.shadowRoot).find(Boolean) ?? host;
    return root.querySelector('.component > *');
  })"""


def show(tab, server: str, page: str, link: str = "") -> None:
    tab.goto(f"{server}/{PAGES[page]}{link}")
    tab.get_by_role("heading", level=1).wait_for()
    if re.search("(folder|versus|run)=(/|%2F)", link):
        open_it(tab)
    settle(tab)


def open_it(tab) -> None:
    """Say yes to what a link opens."""
    button = tab.get_by_role("button", name="Open it")
    button.click()
    button.wait_for(state="detached")  # until then the page shows the model that it opens without asking


def settle(tab) -> None:
    """Wait until a view is there and no part of the page is being computed, a grey placeholder or not yet drawn."""
    tab.locator(".st-key-bar [data-testid=stPopover]").wait_for(state="attached")
    tab.evaluate(ARRIVED)
    tab.wait_for_function(f"{IDLE} && {DRAWN}")


def unharmed(tab) -> None:
    assert tab.outside == [], "requests beyond this machine"
    assert tab.broken == [], "errors in the page's JavaScript"
    assert tab.locator("[data-testid=stException]").count() == 0
    assert tab.locator("[data-testid=stAlertContentError]:visible").count() == 0


def overflow(tab) -> int:
    """By how many pixels the page is wider than its window."""
    return tab.evaluate(f"(e => e.scrollWidth - e.clientWidth)(document.querySelector('{MAIN}'))")
