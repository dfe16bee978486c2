"""The page that follows one word without a browser: what is followed, where its stations lead, its cell."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest
from pages import boxes, cells, fine, opened, run, said

from app.explore import FIRST, PAGES
from bertlab.draw.html import word as drawn
from tests.alike import assert_alike

TEXT, PAIR = "my dog is [MASK].", "he [MASK] walks."
ROUNDED = 2e-3  # what the picture gets has three decimals


@pytest.fixture
def pictures(monkeypatch):
    """Collects the data of each moving picture of a page."""
    found = []
    monkeypatch.setattr(drawn, "word_component", lambda data, key, on_view=None: found.append(json.loads(data)) or {})
    return found


@pytest.mark.parametrize(
    ("link", "position", "address"),
    [
        (dict(text=TEXT), 5, {}),
        (dict(text=TEXT, pair=PAIR, gap="2"), 9, {"gap": "2"}),
        (dict(text="my dog is hairy.", mask="2"), 2, {"mask": "2"}),
        (dict(text="he is my dog.", mask="77"), 3, {"mask": "3"}),  # the last word that is not cut: do ##g
        (dict(text="!?", gap="9"), 2, {"mask": "2"}),  # no word at all
    ],
)
def test_the_followed_word_and_its_link(link, position, address, folders, pictures):
    app = opened(FIRST, folder=folders["pretrained"], **link)
    assert fine(app), said(app)
    (picture,) = pictures
    assert picture["positions"][picture["followed"]] == position
    assert {key: "".join(app.query_params[key]) for key in ("mask", "gap") if key in app.query_params} == address


def test_each_station_leads_to_its_page_with_the_same_text_and_model(folders, pictures):
    opened(FIRST, folder=folders["pretrained"], text="my dog is hairy.", mask="2")
    (picture,) = pictures
    assert len(picture["links"]) == len(picture["stations"]) == 2 + 2 + 2
    for address, name in dict(picture["links"]).items():
        page, asked = urlsplit(address).path, dict(parse_qsl(urlsplit(address).query))
        assert name.startswith(PAGES[page][0]) and asked["folder"] == folders["pretrained"]
        app = opened(page, **asked)
        assert fine(app), said(app)
        key = "embeddings_yours" if page == "embeddings" else "text"
        assert app.text_area(key=key).value == "my dog is hairy."
        if page == "masking":
            assert app.query_params["mask"] in ("2", ["2"])


def test_a_text_too_long_for_an_address_has_no_links(folders, pictures):
    app = opened(FIRST, folder=folders["pretrained"])
    app.text_area(key="text").set_value("my [MASK] " * 1000).run()
    assert fine(app) and pictures[-1]["links"] == [] and "left out" in boxes(app)
    assert "the stations lead nowhere" in said(app)


def test_the_model_beside_it_is_followed_too(folders, pictures):
    app = opened(FIRST, folder=folders["pretrained"], text=TEXT, versus="random weights")
    assert fine(app), said(app)
    first, second = pictures
    assert [len(picture["sets"]) for picture in pictures] == [2, 1]
    assert_alike(first["sets"][1], second["sets"][0], abs=ROUNDED)
    assert not second["choose"]


def test_the_cell_shows_the_same_picture(folders, pictures):
    app = opened(FIRST, folder=folders["pretrained"], text=TEXT, pair=PAIR, mask="2")
    widget, _ = run(cells(app)[0])
    assert_alike(json.loads(widget.data)["sets"], pictures[0]["sets"], abs=ROUNDED)
