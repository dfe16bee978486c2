"""A model of one's own from the browser: it is shown, and one that cannot be read leaves what was there."""

import shutil
from pathlib import Path

import pytest
from browsing import settle, show, unharmed

pytestmark = pytest.mark.browser


def upload(tab, file: Path) -> None:
    tab.locator("input[type=file]").set_input_files(file)


def test_an_uploaded_zip_is_shown_and_a_bad_one_leaves_it(tab, server, folders, tmp_path):
    shutil.make_archive(str(tmp_path / "mine"), "zip", folders["pretrained"])
    (tmp_path / "bad.zip").write_bytes(b"PK no zip")
    show(tab, server, "attention")
    tab.get_by_role("button", name="Change").click()
    tab.get_by_text("or upload one").click()
    upload(tab, tmp_path / "bad.zip")
    tab.get_by_text("bad.zip: not a readable zip").wait_for()
    settle(tab)  # the side bar is drawn before the heading
    assert tab.get_by_text("Model: english").count() == 1
    tab.get_by_role("button", name="Remove bad.zip").click()
    tab.get_by_text("bad.zip: not a readable zip").wait_for(state="detached")
    upload(tab, tmp_path / "mine.zip")
    tab.get_by_text("Model: mine.zip").wait_for()
    settle(tab)
    assert tab.locator(".thumb").count() == 2 * 3  # layers, heads
    unharmed(tab)


def test_back_shows_an_upload_again_that_another_model_had_put_aside(tab, server, folders, tmp_path):
    shutil.make_archive(str(tmp_path / "mine"), "zip", folders["pretrained"])
    show(tab, server, "attention")
    tab.get_by_role("button", name="Change").click()
    tab.get_by_text("or upload one").click()
    upload(tab, tmp_path / "mine.zip")
    tab.get_by_text("Model: mine.zip").wait_for()
    settle(tab)
    tab.get_by_role("button", name="A small world whose every word we know").click()
    tab.get_by_text("Model: storyworld-tiny").wait_for()
    settle(tab)
    tab.go_back()
    tab.get_by_text("Model: mine.zip").wait_for()
    settle(tab)
    assert tab.get_by_text("was uploaded before").count() == 0 and "upload=mine.zip" in tab.url
    unharmed(tab)
