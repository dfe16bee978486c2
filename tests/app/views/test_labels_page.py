"""Labels: the answer, how sure, how often wrong when so sure, and what contributes; of one model or two."""

import json
import shutil

import pytest
from pages import TINY, fine, opened, said

from bertlab.evaluation.calibration import CALIBRATION, LONG, SHORT
from bertlab.io.locate import locate

WORDS = "Each word"


def titles(app) -> list[str]:
    return [m.value.replace("\\", "") for m in app.main.markdown if m.value.startswith("**What contributes")]


def numbers(app) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.main.metric}


def test_two_models_label_the_same(folders):
    app = opened("labels", folder=folders["classifier"], versus="storyworld-tiny-sentiment", label_text="the dog " * 99)
    assert fine(app), said(app)
    assert said(app).count("The text is read in windows of") == 2
    assert len(titles(app)) == 2
    names = [button.key for button in app.main.get("download_button")]
    assert len(names) == len(set(names))


def test_the_pressed_word_is_that_of_both(folders):
    link = {"folder": folders["tagger"], "versus": "storyworld-tiny-entities", "label_text": "Rex met Ruth"}
    app = opened("labels", **link, word="2")  # a model that labels words opens with them
    assert fine(app), said(app)
    assert sum("for “Ruth”**" in title for title in titles(app)) == 2
    app.main.pills[-1].set_value(0).run()
    assert fine(app) and sum("for “Rex”**" in title for title in titles(app)) == 2


def test_random_weights_are_not_shown_twice(folders):
    app = opened("labels", folder=folders["classifier"], versus="random weights", label_text="the dog")
    assert fine(app) and len(titles(app)) == 1, said(app)


def test_at_first_a_text_is_shown_whose_label_comes_from_the_word_that_one_expects():
    app = opened("labels", model=TINY)
    assert fine(app) and app.metric[0].value == "good"
    assert "Without any words the logit of this label is **−3.51**; these words add **+9.51**." in said(app)
    assert "In this text, **delicious** (+4.6) and **in** (+2.8) contribute most to “**good**”" in said(app)
    table = next(one.value for one in app.main.dataframe if "contribution" in one.value)
    assert table["token"][table["contribution"].argmax()] == "delicious"


def test_a_long_review_is_judged_whole():
    begins = "I had read that this was the film of the year, and so did my sister. " * 8
    app = opened("labels", label_text=begins + "It is awful, boring, badly acted and a terrible waste of time. " * 8)
    assert fine(app) and app.metric[0].value == "negative"
    assert "The text is read in windows of 128 tokens" in said(app) and "first window alone" in said(app)


def test_names_are_found_in_real_english():
    text = "Barack Obama was born in Hawaii."
    link = {"label_text": text, "label_two": "true", "label_other": f"{text} It was great."}
    assert "In the other version the class" in said(opened("labels", **link))
    app = opened("labels", **link, labels_tab=WORDS)
    assert fine(app) and "Model: **english-names**" in said(app)
    words = [option for pills in app.main.pills for option in pills.options]
    assert {"Barack", "Obama", "Hawaii"} <= set(words)


def test_the_model_of_pairs_opens_with_pairs():
    app = opened("labels", model="english-pairs")
    assert fine(app) and app.text_area(key="label_pair").value


@pytest.mark.parametrize(
    ("text", "sure"), [("A wonderful film, superb and moving.", 0.8), ("The train leaves at seven.", 0.5)]
)
def test_the_page_says_how_often_the_model_is_wrong_when_it_is_so_sure(text, sure):
    app = opened("labels", label_text=text)
    assert fine(app)
    share = float(numbers(app)["Its probability"].strip("> %")) / 100
    assert share > sure
    measured = json.loads((locate("english-sentiment") / CALIBRATION).read_text())["bins"]
    alike = next(one for one in measured if one["low"] <= share < one["high"] and one["length"] == SHORT)
    assert f"Of {alike['count']:,} test texts of {SHORT}" in said(app)
    assert f"it got {alike['count'] - alike['right'] or 'none'} wrong" in said(app)
    assert ("Wrong when this sure" in numbers(app)) == (alike["right"] < alike["count"])


def test_a_short_text_is_judged_by_the_short_ones():
    app = opened("labels", label_text="It rained all day in Oslo.")
    assert fine(app) and f"test texts of {SHORT}" in said(app)
    review = "The story is slow and the end is weak, but I liked the music and the actors. " * 6
    assert f"test texts of {LONG}" in said(opened("labels", label_text=review))


def test_a_model_without_a_mistake_on_its_test_promises_nothing():
    app = opened("labels", model=TINY, label_text="I want my money back.")
    assert fine(app) and numbers(app)["Its probability"] == "> 99%" and "Wrong when this sure" not in numbers(app)
    assert "it got none wrong" in said(app) and "on yours it may be wrong more often" in said(app)


@pytest.mark.parametrize("tab", ["The whole text", WORDS])
def test_a_text_of_another_language_is_told_apart(tab):
    model = TINY if tab == WORDS else "english"
    app = opened("labels", model=model, label_text="Ich habe den Film gestern gesehen, furchtbar.", labels_tab=tab)
    assert fine(app) and "Wrong when this sure" not in numbers(app)
    told = said(app)
    assert "the answer means little" in told or "the others are rare or new to it" in told


def test_a_model_of_names_says_what_it_learned_from():
    link = {"model": TINY, "labels_tab": WORDS}
    assert "learned from names" in said(opened("labels", **link, label_text="Heavy snow closed the road on Sunday."))
    assert "learned from names" not in said(opened("labels", **link))


def test_nothing_is_said_where_nothing_was_measured(folders, tmp_path):
    app = opened("labels", folder=folders["classifier"], label_text="the dog")
    assert fine(app) and "Wrong when this sure" not in numbers(app)
    broken = tmp_path / "broken"
    shutil.copytree(locate("storyworld-tiny-sentiment"), broken)
    for content in ("{", "[]", '{"bins": 3}', '{"bins": [{"low": 0.99, "high": 1, "count": 99, "right": "<b>"}]}'):
        (broken / CALIBRATION).write_text(content)
        app = opened("labels", folder=str(broken), label_text="The cake was delicious.")
        assert fine(app) and "Wrong when this sure" not in numbers(app), said(app)


def test_bundled_models_read_one_text_and_others_may_read_two(folders):
    fields = [field.key for field in opened("labels").main.text_area]
    assert fields == ["label_text"]
    app = opened("labels", folder=folders["classifier"])
    assert [field.key for field in app.main.text_area] == ["label_text", "label_pair"]


def test_labels_of_names_are_explained():
    app = opened("labels", model=TINY, labels_tab=WORDS)
    told = [m.value for m in app.main.markdown if m.value.startswith("The label of")]
    assert told[0].replace("\\", "").startswith("The label of “Ruth” is **B-person** (it begins the name of a person)")
    app.main.pills[-1].set_value(2).run()
    assert "The label of “bought” is **O** (no name)" in said(app)
