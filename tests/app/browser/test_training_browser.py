"""The page Training in a real browser: a run that goes on, and the slider that every page follows."""

import shutil
from urllib.parse import quote

import pytest
from browsing import show, unharmed
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_a_run_is_watched_to_its_end_without_a_click(tab, server, run_folder, tmp_path):
    live = tmp_path / "live"
    shutil.copytree(run_folder, live)
    (live / "model.safetensors").rename(live / "later")
    show(tab, server, "training", f"?run={quote(str(live))}")
    steps = tab.locator("[data-testid=stMetricValue]").first
    assert steps.inner_text() == "100"
    with (live / "metrics.csv").open("a") as file:
        file.write("125,4.5,0.3,0.6,0.6,60\n")
    tab.wait_for_function("document.querySelector('[data-testid=stMetricValue]').innerText === '125'")
    tab.get_by_text("Under way").wait_for()
    (live / "later").rename(live / "model.safetensors")
    tab.get_by_text("Under way").wait_for(state="detached")
    tab.locator("[data-testid=stMainBlockContainer] [data-testid=stSliderThumbValue]", has_text="125").wait_for()
    unharmed(tab)


def test_the_slider_moves_all_pages_and_the_link_reopens_it(tab, server):
    show(tab, server, "training", "?model=storyworld-tiny&training_tab=A%20head%20forms")
    slider = tab.locator("[data-testid=stMainBlockContainer]").get_by_role("slider")
    slider.focus()
    slider.press("ArrowLeft")
    tab.get_by_text("Model: storyworld-tiny/step-04000").wait_for()
    assert "step=4000" in tab.url
    tab.get_by_text("Layer 2, head 1 ends with").wait_for()
    expect(tab.locator("[data-testid=stVegaLiteChart]")).to_have_count(8)
    again = tab.url
    tab.get_by_role("link", name="Attention").click()
    tab.get_by_text("Model: storyworld-tiny/step-04000").wait_for()
    tab.locator(".matrix").wait_for()
    tab.goto(again)
    tab.get_by_text("Model: storyworld-tiny/step-04000").wait_for()
    tab.get_by_text("Layer 2, head 1 ends with").wait_for()
    unharmed(tab)
