"""A row of a data set in a real browser: its link opens it in another page, and Back brings the table back."""

import pytest
from browsing import MAIN, settle, show, unharmed

pytestmark = pytest.mark.browser


def test_a_row_opens_in_another_page_and_back_shows_it_again(tab, server):
    show(tab, server, "dataset", "?model=storyworld-tiny&dataset_set=questions&dataset_row=10")
    row, entries, address = tab.get_by_text("question: ").inner_text(), tab.evaluate("history.length"), tab.url
    tab.locator(MAIN).get_by_role("link", name="Answer spans").click()
    tab.get_by_role("heading", name="Answer spans").wait_for()
    settle(tab)
    assert tab.get_by_label("Your question").input_value() == row.removeprefix("question: ")
    assert tab.evaluate("history.length") == entries + 1
    tab.go_back()
    tab.get_by_role("heading", name="Data sets").wait_for()
    settle(tab)
    assert tab.url == address and tab.get_by_text("question: ").inner_text() == row
    unharmed(tab)


def test_words_with_labels_open_where_words_are_labelled(tab, server):
    show(tab, server, "dataset", "?model=storyworld-tiny&dataset_set=names&dataset_row=3")
    tab.locator(MAIN).get_by_role("link", name="Labels").click()
    tab.get_by_role("heading", name="Labels").wait_for()
    settle(tab)
    assert tab.get_by_role("tab", name="Each word").get_attribute("aria-selected") == "true"
    assert "labels_tab=Each" in tab.url and tab.locator(".passage mark").count()
    unharmed(tab)
