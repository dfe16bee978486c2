"""Tasks: the answer, how sure, how often right when so sure, and what contributes; of one model or two."""

import json
import shutil
from types import SimpleNamespace

import pytest
from pages import TINY, boxes, fine, opened, said, tables
from safetensors.torch import load_file, save_file

from app.shared.text.texts import RUTH_HILL
from app.views.tasks.names import meaning
from bertlab import BertConfig, BertForMaskedLM, BertForPreTraining, Tokenizer
from bertlab.evaluation.calibration import CALIBRATION, LONG, SHORT
from bertlab.explain.ablation import random_control
from bertlab.io.locate import locate
from tests.unstyled import unstyled

NAMES, NEXT = "Names", "Next sentence"
SURE = "Right when so sure"
OPINION = "Ruth Hill bought Lucky a cake in Ashford. It was delicious."
TEXT, PAIR = "my dog is [MASK].", "he likes walks."


def labels(app) -> list[str]:
    """What is said of the label of the pressed word, by each model."""
    return [m.value.replace("\\", "") for m in app.main.markdown if m.value.startswith("The label of")]


def folded(app) -> int:
    return len([one for one in app.main.expander if one.label.startswith("Each token")])


def explained(app) -> str:
    return next(metric.help for metric in app.main.metric if metric.label == SURE)


def numbers(app) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.main.metric}


def test_two_models_label_the_same(folders):
    app = opened("tasks", folder=folders["classifier"], versus="storyworld-tiny-sentiment", text="the dog " * 99)
    assert fine(app), said(app)
    assert said(app).count("The text is read in windows of") == 2
    assert folded(app) == 2
    names = [button.key for button in app.main.get("download_button")]
    assert len(names) == len(set(names))


def test_the_pressed_word_is_that_of_both(folders):
    link = {"folder": folders["tagger"], "versus": "storyworld-tiny-entities", "text": "Rex met Ruth"}
    app = opened("tasks", **link, word="2")  # a model that labels words opens with them
    assert fine(app), said(app)
    assert len(labels(app)) == 2 and "“Ruth”" in labels(app)[1]
    app.main.pills[-1].set_value(0).run()
    assert fine(app) and len(labels(app)) == 2 and "“Rex”" in labels(app)[1]


def test_random_weights_are_not_shown_twice(folders):
    app = opened("tasks", folder=folders["classifier"], versus="random weights", text="the dog")
    assert fine(app) and folded(app) == 1, said(app)


@pytest.mark.usefixtures("every_point")
def test_at_first_a_text_is_shown_whose_label_comes_from_the_word_that_one_expects():
    app = opened("tasks", model=TINY)
    assert fine(app) and app.metric[0].value == "good"
    assert "Check: the attributions sum to" in said(app) and "The output goes from −3.5" in said(app)
    assert "In this text, **delicious** (+4.6) and **in** (+2.8) contribute most to “**good**” (blue)" in said(app)
    table = next(one.value for one in app.main.dataframe if "contribution" in one.value)
    assert table["token"][table["contribution"].argmax()] == "delicious"


def test_a_long_review_is_judged_whole():
    begins = "I had read that this was the film of the year, and so did my sister. " * 8
    app = opened("tasks", text=begins + "It is awful, boring, badly acted and a terrible waste of time. " * 8)
    assert fine(app) and app.metric[0].value == "negative"
    assert "The text is read in windows of 128 tokens" in said(app) and "first window alone" in said(app)
    assert f"test texts of {LONG}" in explained(app)


@pytest.mark.parametrize(
    ("text", "sure"), [("A wonderful film, superb and moving.", 0.8), ("The train leaves at seven.", 0.5)]
)
def test_the_page_says_how_often_the_model_is_right_when_it_is_so_sure(text, sure):
    app = opened("tasks", text=text)
    assert fine(app)
    share = float(numbers(app)["Its probability"].strip("> %")) / 100
    assert share > sure
    measured = json.loads((locate("english-sentiment") / CALIBRATION).read_text())["bins"]
    alike = next(one for one in measured if one["low"] <= share < one["high"] and one["length"] == SHORT)
    assert f"Of {alike['count']:,} test texts of {SHORT}" in explained(app)
    assert f"it got {alike['right']:,} right" in explained(app)
    assert numbers(app)[SURE].endswith(f"% of {alike['count']:,}")


def test_a_model_without_a_mistake_on_its_test_promises_nothing():
    app = opened("tasks", model=TINY, text="I want my money back.")
    assert fine(app) and numbers(app)["Its probability"] == "> 99%"
    assert numbers(app)[SURE].startswith("all of ")


@pytest.mark.parametrize("tab", ["Opinion", NAMES])
def test_a_text_of_another_language_is_told_apart(tab):
    model = TINY if tab == NAMES else "english"
    app = opened("tasks", model=model, text="Ich habe den Film gestern gesehen, furchtbar.", tasks_tab=tab)
    assert fine(app) and SURE not in numbers(app)
    told = said(app)
    assert "the answer means little" in told or "the others are rare or new to it" in told


def test_a_model_of_names_says_what_it_learned_from():
    link = {"model": TINY, "tasks_tab": NAMES}
    assert "learned from names" in said(opened("tasks", **link, text="Heavy snow closed the road on Sunday."))
    assert "learned from names" not in said(opened("tasks", **link))


def test_nothing_is_said_where_nothing_was_measured(folders, tmp_path):
    app = opened("tasks", folder=folders["classifier"], text="the dog")
    assert fine(app) and SURE not in numbers(app)
    broken = tmp_path / "broken"
    shutil.copytree(locate("storyworld-tiny-sentiment"), broken)
    for content in ("{", '{"bins": 3}', '{"bins": [{"low": 0.99, "high": 1, "count": 99, "right": "<b>"}]}'):
        (broken / CALIBRATION).write_text(content)
        app = opened("tasks", folder=str(broken), text="The cake was delicious.")
        assert fine(app) and SURE not in numbers(app), said(app)


def test_a_damaged_head_is_named_in_a_box(folders, tmp_path):
    broken = shutil.copytree(folders["classifier"], tmp_path / "broken")
    tensors = load_file(broken / "model.safetensors")
    tensors["classifier.weight"] = tensors["classifier.weight"][:, 1:].contiguous()
    save_file(tensors, broken / "model.safetensors")
    app = opened("tasks", folder=str(broken), text="the dog")
    assert not app.exception and app.title and app.tabs
    assert "classifier.weight" in boxes(app) and "view failed" not in boxes(app)


def test_bundled_models_read_one_text_and_others_may_read_two(folders):
    fields = [field.key for field in opened("tasks", model=TINY).main.text_area]
    assert fields == ["text"]
    app = opened("tasks", folder=folders["classifier"])
    assert [field.key for field in app.main.text_area] == ["text", "pair"]


def test_labels_of_names_are_explained():
    app = opened("tasks", model=TINY, tasks_tab=NAMES)
    told = [m.value for m in app.main.markdown if m.value.startswith("The label of")]
    assert told[0].replace("\\", "").startswith("The label of “Ruth” is **B-person** (it begins the name of a person)")
    app.main.pills[-1].set_value(2).run()
    assert "The label of “bought” is **O** (no name)" in said(app)


def marks(app) -> str:
    return next(one.proto.body for one in app.main.get("html") if 'class="mark"' in one.proto.body)


def test_doubtful_names_are_marked():
    app = opened("tasks", tasks_tab=NAMES, text="The new Dyson from Argos broke on Friday.", word="2")  # counted from 0
    assert fine(app) and "Dashed, with a question mark" in said(app)
    shown = unstyled(marks(app))
    assert ">Dyson&nbsp;<small>?</small>" in shown and "Argos&nbsp;<small>LOC</small>" in shown
    assert "**O** (no name), with a probability of 9" in labels(app)[0]
    assert labels(app)[0].endswith("below 99% it is a guess. The model does not read its capital letter.")
    app = opened("tasks", tasks_tab=NAMES, text="Tom Becker is here.")
    assert fine(app) and "Dashed" not in said(app) and "dashed" not in marks(app)
    assert "**B-PER** (it begins the name of a person)" in said(app) and "Model: **english-names**" in said(app)
    other = {"two": "true", "other": "The new Dyson from Argos broke on Friday."}
    app = opened("tasks", tasks_tab=NAMES, text="Tom Becker is here.", **other)
    assert fine(app) and "Dashed, with a question mark" in said(app)


@pytest.mark.parametrize(("label", "kind"), [("B-animal", "an animal"), ("B-URL", "a URL"), ("B-LOC", "a place")])
def test_a_kind_of_name_has_its_article(label, kind):
    assert meaning(SimpleNamespace(kinds=()), label) == f" (it begins the name of {kind})"


def judged(app):
    return tables(app)[0].set_index(["model", "order"])["probability"]


def test_verdicts_on_a_pair():
    app = opened("tasks", model=TINY, tasks_tab=NEXT, text=TEXT, pair=PAIR)
    model, tok = (kind.from_pretrained(TINY) for kind in (BertForPreTraining, Tokenizer))
    assert len(judged(app)) == 4
    for name, judge in (("random weights", random_control(model)), (TINY, model)):
        for order, pair in (("as written", (TEXT, PAIR)), ("texts swapped", (PAIR, TEXT))):
            logits = judge(**tok([pair[0]], [pair[1]])).seq_relationship_logits[0].detach()
            assert judged(app)[name, order] == pytest.approx(float(logits.softmax(-1)[0]), abs=1e-5)


def test_pairs_are_offered_and_one_text_is_too_few():
    app = opened("tasks", model=TINY, tasks_tab=NEXT)
    for pair, verdict in (("one story", "follows"), ("two stories", "does not follow")):
        app.pills(key="example_choice").set_value(pair).run()
        assert fine(app) and f"storyworld-tiny**: the second text **{verdict}**" in said(app)
    app.text_area(key="pair").set_value("").run()
    assert fine(app) and "needs a second one" in said(app)
    app.text_area(key="text").set_value("").run()
    assert not app.exception and "view failed" not in boxes(app)


def test_a_model_that_never_learned_pairs_leaves_them_to_another(folders, tmp_path):
    tok = Tokenizer.from_pretrained(folders["pretrained"])
    BertForMaskedLM(BertConfig.from_pretrained(folders["pretrained"])).save_pretrained(tmp_path, tok)
    link = dict(tasks_tab=NEXT, text="<b>a</b> *b* [MASK] :smile:", pair=PAIR)
    app = opened("tasks", folder=str(tmp_path), **link)
    assert fine(app) and "has no head for this task, so you see **english-next**" in said(app)
    assert set(judged(app).index.get_level_values(0)) == {"english-next", "random weights"}
    app = opened("tasks", model=TINY, versus=str(tmp_path), **link)
    assert fine(app) and "so there is no comparison" in said(app)
    assert set(judged(app).index.get_level_values(0)) == {TINY, "random weights"}
    app = opened("tasks", versus=TINY, **link)
    assert fine(app) and len(judged(app)) == 6


def test_a_text_of_ones_own_goes_along_and_an_example_does_not():
    app = opened("play", model=TINY)
    example = app.text_input(key="text").value
    app.switch_page("views/tasks/page.py").run()
    assert fine(app) and app.text_area(key="text").value == OPINION
    for tab, text in ((NAMES, "Ruth Hill bought Lucky a cake in Ashford."), ("Answers", RUTH_HILL)):
        app.session_state.tasks_tab = tab
        assert fine(app.run()) and app.text_area(key="text").value == text
    app.text_area(key="text").set_value("It was salty.").run()
    app.session_state.tasks_tab = NAMES
    assert fine(app.run()) and app.text_area(key="text").value == "It was salty."
    app.switch_page("views/play/page.py").run()
    assert fine(app) and app.text_input(key="text").value == "It was salty." != example


def take_example(app):
    next(button for button in app.main.button if button.label == "Take an example").click().run()
    assert fine(app)


@pytest.mark.parametrize(
    ("link", "needed"),
    [({"tasks_tab": "Answers", "model": TINY}, "a question of its own"), ({"model": "english-pairs"}, "a second one")],
)
def test_a_text_of_ones_own_is_not_asked_what_an_example_is(link, needed):
    """The model of pairs opens with pairs."""
    app = opened("tasks", **link)
    before = len(app.metric)
    app.text_area(key="text").set_value(f"{app.text_area(key='text').value} It rains.").run()
    assert fine(app) and "Take an example" not in [button.label for button in app.main.button], "a changed example"
    app.text_area(key="text").set_value("My dentist was very kind.").run()
    assert fine(app) and needed in said(app) and not app.metric
    take_example(app)
    assert needed not in said(app) and len(app.metric) == before


def test_a_gap_is_no_text_for_an_opinion():
    app = opened("tasks", text="My dentist was [MASK] kind.")
    assert fine(app) and "write a word for [MASK]" in said(app) and app.text_area(key="text").value.startswith("My")
    take_example(app)
    assert "write a word for [MASK]" not in said(app) and app.text_area(key="text").value.startswith("A wonderful film")
