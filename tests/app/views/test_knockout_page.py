"""Heads switched off, measures beside attention, and bertviz, without a browser."""

import pages
import pytest
from pages import LONGEST, boxes, cells, fine, run, said, tables
from streamlit.testing.v1 import AppTest

from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.percent import signed
from bertlab.explain.attention.flow import measures
from bertlab.explain.attention.knockout import fill_knockouts
from bertlab.explain.words.fill import fill_mask

TABS = ["Switch heads off", "Is it an explanation?", "bertviz"]
TEXT, PAIR = 'my dog "is" \\ [MASK] today.', "he likes walks."


def opened(tab: str, **link) -> AppTest:
    return pages.opened("attention", attention_tab=tab, **link)


def ran(app: AppTest) -> tuple[object, dict]:
    """What the one cell of a view gives, and the names that it made."""
    (code,) = cells(app)
    return run(code)


def followed(app: AppTest):
    (field,) = [box for box in app.main.selectbox if box.label == "Word to follow"]
    return field


def word(app: AppTest) -> str:
    """The followed word: the model's first guess until another is chosen."""
    return followed(app).value or followed(app).proto.placeholder.removesuffix(" (the first guess)")


def both(folder):
    return BertForPreTraining.from_pretrained(folder), Tokenizer.from_pretrained(folder)


@pytest.mark.parametrize("tab", TABS[1:])
def test_every_view_and_its_cell(tab, folders):
    app = opened(tab, folder=folders["pretrained"], text=TEXT, pair=PAIR)
    assert fine(app), said(app)
    picture, _ = ran(app)
    assert getattr(picture, "data", None) is not None or picture.to_dict()["hconcat"]
    assert all(button in [one.label for one in app.download_button] for button in ("CSV", "PNG", "SVG"))


def test_a_model_without_the_followed_token_says_so(folders):
    own, other = (Tokenizer.from_pretrained(name).vocab for name in (folders["pretrained"], "english-scratch"))
    odd = min(token for token in own.keys() - other.keys() if token.isalpha())
    app = opened("Switch heads off", folder=folders["pretrained"], text=TEXT, versus="english-scratch", follow=odd)
    assert fine(app) and f"has no token “{odd}”" in said(app)


@pytest.mark.parametrize(("tab", "found"), [(TABS[0], "change"), (TABS[1], "agreement")])
def test_the_cell_shows_both_models(tab, found, folders):
    text = "the animal didn't cross the street because it was too [MASK]"
    app = opened(tab, text=text, folder=folders["pretrained"], versus="storyworld-tiny", follow="was")
    assert fine(app), said(app)
    picture, names = ran(app)
    drawn = picture.to_dict()["hconcat"]
    assert len(drawn if found == "change" else drawn[1]["vconcat"]) == 3
    if found == "change":
        shown = tables(app)[0].set_index("model").loc["storyworld-tiny", "change"]
        computed = [change for row in names["found_2"] for change in row]
        assert list(shown) == pytest.approx(computed, abs=1e-4) and len(shown) == 4 * 4
        assert set(tables(app)[0]["model"]) == {"storyworld-tiny", "random weights", "pretrained"}


@pytest.mark.parametrize("view", ["model", "neurons"])
def test_cells_of_bertviz(view, folders):
    app = opened("bertviz", folder=folders["pretrained"], text=TEXT, bertviz=view)
    html, _ = ran(app)
    assert fine(app) and "bertviz-" in html.data


def test_the_head_that_matters_most_is_off_at_first(folders):
    app = opened("Switch heads off", folder=folders["pretrained"], text=TEXT, pair=PAIR)
    assert ran(app)[0].to_dict()["hconcat"]
    assert {"CSV", "PNG", "SVG"} <= {one.label for one in app.download_button}
    model, tok = both(folders["pretrained"])
    guess = fill_mask(model, tok, TEXT, PAIR, k=1)[0].tokens[0]
    assert word(app) == guess
    rows = list(fill_knockouts(model, tok, TEXT, PAIR, (), 0, guess))
    changes = {f"{i}-{j}": change for i, row in enumerate(rows, 1) for j, change in enumerate(row, 1)}
    worst = min(changes, key=changes.get)
    assert app.multiselect(key="off").value == [worst]
    assert f"changes by **{signed(changes[worst])}** nats" in said(app)
    table = tables(app)[0]
    assert list(table["change"][: len(changes)]) == pytest.approx(list(changes.values()), abs=1e-5)
    assert set(table["model"]) == {"pretrained", "random weights"}


def test_heads_of_another_model_are_forgotten(folders):
    app = opened("Switch heads off", model="storyworld-tiny", text=TEXT, off=["4-4", "1-1"])
    assert fine(app) and app.multiselect(key="off").value == ["4-4", "1-1"]
    app.text_input(key="folder").set_value(folders["pretrained"]).run()
    assert fine(app) and app.multiselect(key="off").value == ["1-1"]


def test_a_press_on_the_map_flips_a_head(folders):
    """AppTest cannot click a chart: what the callback is told is put there by hand."""
    app = AppTest.from_string(PRESS, default_timeout=LONGEST)
    app.session_state["off"] = ["1-2"]
    app.session_state["pressed"] = [[(1, 2)], [(1, 2), (2, 1)], [(1, 2)], []]
    app.run()
    assert [text.value for text in app.text] == ["[]", "['2-1']", "[]", "['1-2']"]


PRESS = """
from types import SimpleNamespace
import streamlit as st
from app.views.attention import switch_off

for cells in st.session_state.pressed:
    chosen = [{"layer": layer, "head": head} for layer, head in cells]
    st.session_state["off map"] = SimpleNamespace(selection={"cell": chosen})
    switch_off.switch()
    st.text(str(st.session_state.off))
"""


def test_another_word_can_be_followed_and_is_in_the_link(folders):
    tab, link = TABS[0], dict(folder=folders["pretrained"], text=TEXT)
    app = opened(tab, **link)
    second = followed(app).options[1]
    followed(app).set_value(second).run()
    assert fine(app) and app.query_params["follow"] in (second, [second]) and f"“{second}”" in said(app)
    ran(app)
    assert f"token={second!r}" in cells(app)[0]
    typed = opened(tab, **link, follow="was")
    assert fine(typed) and followed(typed).value == "was" and "“was”" in said(typed)
    assert "“zebrafish” is no token of this model" in said(opened(tab, **link, follow="zebrafish"))


@pytest.mark.parametrize("tab", TABS[:2])
def test_without_a_gap_a_word_can_be_hidden(tab, folders):
    app = opened(tab, folder=folders["pretrained"], text="the dog likes the baker")
    assert fine(app) and followed(app), said(app)
    app = opened(tab, folder=folders["pretrained"], text="the dog likes the baker", mask="1")
    assert fine(app), said(app)
    assert "the" in followed(app).options


def test_a_pressed_piece_hides_its_whole_word():
    app = opened(TABS[0], model="storyworld-tiny", text="my huckleberry is here.", mask="3")
    assert fine(app) and "'my [MASK] is here.'" in cells(app)[0], said(app)


def test_agreement_is_told_in_words(folders):
    app = opened("Is it an explanation?", folder=folders["pretrained"], text=TEXT, pair=PAIR)
    model, tok = both(folders["pretrained"])
    found = measures(model, tok, TEXT, PAIR, (), 0, word(app))
    assert signed(found.agreement[0, 3]) in said(app)


@pytest.mark.parametrize(
    "link", [{"text": "a [MASK] b"}, {"text": "the horse [MASK]", "follow": "was", "versus": "storyworld-tiny"}]
)
def test_a_text_that_is_short_for_a_model_has_no_order(link, folders):
    """The second is five tokens to the first model, and two to the other one."""
    app = opened("Is it an explanation?", folder=folders["pretrained"], **link)
    assert fine(app) and "write a longer text" in said(app)


@pytest.mark.parametrize(
    ("tab", "text"),
    [*((tab, "<script>alert(1)</script> [MASK] of the dog") for tab in TABS), (TABS[0], "word " * 2_000 + "[MASK]")],
)
def test_odd_texts(tab, text, folders):
    app = opened(tab, folder=folders["pretrained"], text=text)
    assert fine(app), said(app)
    assert len(text) < 1000 or "left out" in said(app)


@pytest.mark.parametrize("tab", TABS)
def test_an_empty_text_gets_a_friendly_box(tab, folders):
    app = opened(tab, folder=folders["pretrained"], text=" ")
    assert not app.exception and "text is empty" in boxes(app)
