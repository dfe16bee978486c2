"""The browser's history: one entry for each thing that a visitor did, and Back brings back what was seen."""

import pytest
from browsing import settle, show, unharmed

pytestmark = pytest.mark.browser
CHIPS = "[data-testid=stButtonGroup] button"
DEEDS = {  # page: what is opened, and what is pressed there
    "attention": ("", lambda tab: tab.get_by_label("layer 2, head 3").first),
    "meaning": (
        "?model=storyworld-tiny&meaning_set=my+own+lines",
        lambda tab: tab.get_by_role("radio", name="topics"),
    ),
    "tasks": (
        "?model=storyworld-tiny&tasks_tab=Names&text=Rex+met+Ruth.",
        lambda tab: tab.locator(CHIPS, has_text="met").last,
    ),
    "training": ("?run=storyworld-tiny", lambda tab: tab.get_by_role("tab", name="A gap fills")),
    "play": (
        "?model=storyworld-tiny&text=my+dog+is+hairy.&mask=4",
        lambda tab: tab.locator(CHIPS, has_text="dog").last,
    ),
}


def look(tab) -> list[str]:
    """What is pressed, chosen and drawn."""
    pressed = tab.locator("[aria-checked=true], [aria-selected=true], [aria-pressed=true], [kind$=Active], .full h4")
    return [*pressed.all_inner_texts(), *tab.locator("[data-testid=stVegaLiteChart] svg text").all_inner_texts()]


ALWAYS = ("play", "meaning")  # words to press, a choice of several


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=() if page in ALWAYS else pytest.mark.nightly) for page in DEEDS]
)
def test_one_press_is_one_entry_and_back_undoes_it(tab, server, page):
    link, place = DEEDS[page]
    show(tab, server, page, link)
    before, seen, entries = tab.url, look(tab), tab.evaluate("history.length")
    place(tab).click()
    tab.wait_for_function("address => location.href !== address", arg=before)
    settle(tab)
    assert tab.evaluate("history.length") == entries + 1
    after, changed = tab.url, look(tab)
    tab.go_back()
    settle(tab)
    assert (tab.url, look(tab)) == (before, seen) and changed != seen
    tab.go_forward()
    settle(tab)
    assert (tab.url, look(tab)) == (after, changed)
    unharmed(tab)


def test_model_text_and_mask_go_to_another_page_and_come_back(tab, server):
    show(tab, server, "play", "?model=storyworld-tiny&step=300&text=my+dog+is+hairy.&mask=2")
    before, entries = tab.url, tab.evaluate("history.length")
    tab.get_by_role("link", name="Attention", exact=True).click()
    tab.locator(".matrix").wait_for()
    settle(tab)
    assert tab.evaluate("history.length") == entries + 1
    assert all(part in tab.url for part in ("model=storyworld-tiny", "step=300", "dog+is+hairy"))
    tab.go_back()
    tab.locator(".large").wait_for()
    settle(tab)
    assert tab.url == before and "mask=2" in before and "model=storyworld-tiny" in before
    assert tab.get_by_label("Your sentence").input_value() == "my dog is hairy."
    unharmed(tab)
