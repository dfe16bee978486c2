"""A presentation: large type, no header, and keys that step through a story or the pages."""

import pytest
from browsing import settle, show, unharmed

pytestmark = pytest.mark.browser
STORY = "?model=english-sentiment&text=The+film+was+good.&two=true&other=The+film+was+not+good.&story=04-negation/1"


def test_keys_step_through_the_pages_without_a_header(tab, server):
    show(tab, server, "play")
    head = tab.locator("[data-testid=stTopNav]")
    size, type_size = tab.get_by_role("heading", level=1).bounding_box()["height"], chart_type(tab)
    assert head.is_visible()
    tab.locator(".st-key-present label").click()
    head.wait_for(state="hidden")
    assert "present=true" in tab.url and tab.get_by_role("heading", level=1).bounding_box()["height"] > 1.2 * size
    settle(tab)
    assert chart_type(tab) > 1.2 * type_size
    tab.locator("body").press("PageDown")
    tab.get_by_role("heading", name="Attention", exact=True).wait_for()
    settle(tab)
    assert head.is_hidden()
    tab.get_by_label("Your text").first.press("ArrowLeft")  # the caret moves, not the page
    tab.locator("h1").click()
    tab.keyboard.press("ArrowLeft")
    tab.get_by_role("heading", name="What word is hidden?").wait_for()
    unharmed(tab)


def chart_type(tab) -> float:
    """How high the type of a chart is, which fits its column."""
    chart = tab.locator("[data-testid=stVegaLiteChart]").first
    inside = chart.locator("xpath=ancestor::*[@data-testid='stColumn']").last.bounding_box()
    drawn = chart.locator("svg.marks").bounding_box()
    assert drawn["x"] + drawn["width"] <= inside["x"] + inside["width"] + 1
    return chart.locator("text").first.bounding_box()["height"]


HEAD = "?text=He+closed+the+[MASK]+behind+him+and+sat+down+by+the+fire.&head=6-4&story=05-at-rest/1&present=true"


@pytest.mark.parametrize(
    ("page", "link", "picture"),
    [
        ("attention", HEAD, ".cells canvas"),
        ("play", "?text=The+film+was+so+boring+that+I+fell+[MASK].&story=01-the-gap/1&present=true", "svg.marks"),
    ],
)
def test_a_station_its_text_and_its_picture_are_on_one_screen(tab, server, page, link, picture):
    tab.set_viewport_size({"width": 1280, "height": 800})
    show(tab, server, page, link)
    assert_on_one_screen(tab, page, picture)
    unharmed(tab)


def assert_on_one_screen(tab, page, picture):
    field = tab.get_by_label("Your sentence") if page == "play" else tab.get_by_label("Your text")
    for seen in (tab.get_by_role("link", name="Next ›"), field, tab.locator(f"[data-testid=stMain] {picture}")):
        place = seen.first.bounding_box()
        assert 0 <= place["x"] and place["x"] + place["width"] <= 1280, seen
        assert 0 <= place["y"] and place["y"] + min(place["height"], 100) <= 800, seen


def test_the_type_of_tables_is_large_too_and_a_press_finds_its_row(tab, server):
    show(tab, server, "tasks", "?tasks_tab=A+whole+file&present=true")
    table = tab.locator("[data-testid=stDataFrame]").first
    place, room = table.bounding_box(), tab.locator("[role=tabpanel]").last.bounding_box()
    assert place["x"] + place["width"] == pytest.approx(room["x"] + room["width"], abs=2)
    row = place["height"] / table.evaluate("table => table.offsetHeight") * 35  # pixels
    assert row == pytest.approx(1.3 * 35, abs=1)
    tab.mouse.click(place["x"] + 20, place["y"] + 3.5 * row)  # below the header
    tab.wait_for_url("**dataset_row=3*")
    unharmed(tab)


def test_a_key_reveals_what_a_station_means_and_then_goes_on(tab, server):
    tab.set_viewport_size({"width": 1280, "height": 800})
    show(tab, server, "tasks", f"{STORY}&present=true")
    assert_on_one_screen(tab, "tasks", "[data-testid=stMetric]")
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
