"""Links to the pages of before lead to what shows the same today."""

import pytest
from pages import APP, LONGEST, TINY, calc_hash, fine, opened, said
from streamlit.testing.v1 import AppTest

from app.shared.page.moved import translated

LINKS = [
    (
        "spans",
        {"model": TINY, "question": "Who sang?", "passage": "Ann sang.", "spans_tab": "The answer"},
        "Tasks",
    ),
    ("labels", {"model": TINY, "label_text": "The soup was salty.", "labels_tab": "Each word"}, "Tasks"),
    ("labels", {"model": TINY, "labels_tab": "Next sentence", "next_text": "a", "next_pair": "b"}, "Tasks"),
    ("dataset", {"model": TINY, "dataset_set": "names"}, "Tasks"),
    ("embeddings", {"model": TINY, "embeddings_set": "topics"}, "Meaning"),
]


@pytest.mark.parametrize(("page", "link", "title"), LINKS)
def test_an_old_link_opens_the_page_of_today_with_its_choices(page, link, title):
    app = opened(page, **link)
    assert fine(app) and app.title[0].value == title, said(app)
    today = {"embeddings_set": "meaning_set", "label_text": "text", "passage": "text", "next_pair": "pair"}
    for key in link.keys() - {"model", "labels_tab", "next_text"}:
        assert app.session_state[today.get(key, key)] == link[key]


def test_the_first_page_is_found_by_its_name_too():
    app = AppTest.from_file(str(APP), default_timeout=LONGEST)
    app._page_hash = calc_hash("play")
    app.query_params.update(model=TINY, text="the dog is [MASK].")
    app.run()
    assert fine(app) and app.title[0].value == "What word is hidden?", said(app)
    assert app.session_state.text == "the dog is [MASK]."
    assert translated("play", {"text": ["a"]}) == ("play", {"text": ["a"]})  # asked for by a browser, not AppTest


def test_a_text_of_the_other_tab_is_left_behind():
    page, found = translated("labels", {"labels_tab": ["Next sentence"], "label_text": ["a"], "next_text": ["b"]})
    assert (page, found) == ("tasks", {"tasks_tab": ["Next sentence"], "text": ["b"]})
