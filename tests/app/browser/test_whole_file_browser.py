"""A row of a whole file in a real browser: a button opens it under another tab, and Back brings the table back."""

import pytest
from browsing import MAIN, settle, show, unharmed

pytestmark = pytest.mark.browser


def test_a_row_opens_under_another_tab_and_back_shows_it_again(tab, server):
    show(tab, server, "tasks", "?tasks_tab=A+whole+file&model=storyworld-tiny&dataset_set=questions&dataset_row=10")
    row, entries, address = tab.get_by_text("question: ").inner_text(), tab.evaluate("history.length"), tab.url
    tab.locator(MAIN).get_by_role("button", name="Answers").click()
    tab.get_by_label("Your question").wait_for()
    settle(tab)
    assert tab.get_by_label("Your question").input_value() == row.removeprefix("question: ")
    assert tab.evaluate("history.length") == entries + 1
    tab.go_back()
    tab.get_by_text("question: ").wait_for()
    settle(tab)
    assert tab.url == address and tab.get_by_text("question: ").inner_text() == row
    unharmed(tab)
