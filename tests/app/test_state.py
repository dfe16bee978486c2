"""What all pages share: text that stays text, links that hold every choice, examples."""

import re
from concurrent.futures import ThreadPoolExecutor

import altair as alt
import pandas as pd
import pytest
from pages import APP, TINY, opened

from app.shared.page import exports, layout, markdown


@pytest.mark.parametrize(
    "text",
    [
        "a\n===",
        "www.x.com",
        "http://x.y",
        ":material/home:",
        ":smile:",
        "a -> b",
        "a -- b",
        "a <- b",
        "x@y.de",
        "a >= b",
    ],
)
def test_no_command_of_markdown_is_left_whole(text):
    shown = markdown.plain(text)
    assert re.sub(rf"[\\{markdown.JOINER}]", "", shown) == " ".join(text.split())
    bare = shown.replace("\\", "")
    assert not re.search(r"\n|www\.|://|:[\w/+-]+:|->|--|<-|>=|\w@", bare)


@pytest.mark.parametrize("text", ["*a* _b_ `c`", "[d](e) ![f](g)", "<b> $x$ | y", "1. one", "# head", "tail\\"])
def test_every_sign_of_markdown_is_escaped(text):
    assert re.sub(r"\\[!-/:-@\[-`{-~]", "", markdown.plain(text)).isalnum() or set(
        re.sub(r"\\[!-/:-@\[-`{-~]", "", markdown.plain(text))
    ) <= set("abcdefgxytail1oneh d")


def test_the_link_holds_every_choice_of_a_field():
    app = opened("attention", model=TINY, attention_tab="Switch heads off", off=["1-2", "3-4"])
    assert not app.exception
    link = next(code.value for code in app.code if code.value.startswith("http"))
    assert "off=1-2" in link and "off=3-4" in link


def test_an_emptied_text_is_empty_when_the_link_is_opened():
    app = opened("attention", model=TINY)
    app.text_area(key="text").set_value("").run()
    assert app.query_params["text"] in ("", [""])
    assert opened("attention", model=TINY, text="").text_area(key="text").value == ""


def test_what_a_link_says_of_places_goes_with_its_text():
    app = opened(model=TINY, text="my dog is hairy", mask="2")
    assert app.query_params["mask"] in ("2", ["2"])
    app.text_input(key="text").set_value("penguins are birds").run()
    assert "mask" not in app.query_params


def test_a_gap_may_be_typed_as_a_line():
    app = opened("attention", model=TINY)
    app.text_area(key="text").set_value("My ___ likes [mask], __init__ and bones.").run()
    assert app.text_area(key="text").value == "My [MASK] likes [MASK], __init__ and bones."
    assert opened("attention", model=TINY, text="My ___ barks.").text_area(key="text").value == "My [MASK] barks."


def test_an_example_can_be_pressed_again():
    app = opened("attention", model=TINY)
    for _ in range(2):
        app.pills(key="example_choice").set_value("a pair").run()
        assert app.text_area(key="text").value.startswith("the man went to the")
        assert app.text_area(key="pair").value
        app.text_area(key="text").set_value("something else").run()


def test_charts_are_drawn_and_written_under_one_lock(monkeypatch):
    """Streamlit changes Altair's globals while it draws; a chart written to a file meanwhile would lose its data."""
    drawn = []
    monkeypatch.setattr(layout.st, "altair_chart", lambda chart, **options: drawn.append(layout.CHARTS.locked()))
    layout.show_chart(alt.Chart(), "nothing")
    assert drawn == [True]
    assert exports.written(lambda chart: layout.CHARTS.locked(), None)
    others = [path for path in APP.parent.rglob("*.py") if "altair_chart(" in path.read_text(encoding="utf-8")]
    assert [path.name for path in others] == ["layout.py"]


def test_a_chart_written_while_others_are_drawn_keeps_its_data():
    table = pd.DataFrame({"x": [1, 2]})
    chart = alt.Chart(table).mark_point().encode(x="x")

    def draw():
        for _ in range(100):
            layout.show_chart(chart, "two points")

    with ThreadPoolExecutor(1) as threads:
        drawing = threads.submit(draw)
        written = [exports.written(lambda chart: str(chart.to_dict()), chart) for _ in range(100)]
        drawing.result()
    assert len(set(written)) == 1 and "{'x': 2}" in written[0]


def test_every_link_of_a_page_holds_what_is_chosen(folders):
    link = {"folder": folders["tagger"], "versus": "storyworld-tiny-entities"}
    app = opened("tasks", **link, text="my dog is hairy")
    app.main.pills[-1].set_value(2).run()
    links = [code.value for code in app.main.code if code.value.startswith("http")]
    assert len(links) == 2 and all("word=2" in link for link in links)


def test_a_text_too_long_for_a_link_is_named_once(folders):
    """The panel says "your" of all that a link lacks, and not what else the label of a field says."""
    app = opened("attention", model=TINY, text="dog " * 3000, pair="cat " * 3000)
    (warning,) = {box.value for box in app.main.warning if "This link does not contain" in box.value}
    assert "does not contain your text and your second text" in warning.replace("\\", "")
    link = {"meaning_set": "my own lines", "lines": "a | dog\n" * 2 + "cat " * 3000, "meaning_yours": "cat " * 3000}
    app = opened("meaning", folder=folders["pretrained"], **link)
    warnings = " ".join(box.value for box in app.main.warning).replace("\\", "")
    assert "does not contain your lines and your sentences." in warnings
