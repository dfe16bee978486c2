"""Every page without a browser: first screens, links, and everything a reader may get wrong."""

import pytest
from pages import APP, LONGEST, MARKED, ODD, TINY, boxes, calc_hash, cells, fine, opened, said
from streamlit.testing.v1 import AppTest
from torch.nn.modules.module import register_module_forward_pre_hook

from app.explore import FIRST, PAGES
from bertlab.draw.percent import percent


@pytest.mark.parametrize("page", PAGES)
def test_first_screen_shows_real_english_and_asks_no_model_the_second_time(page):
    """What a first visit computed is kept for all readers."""
    app = opened(page)
    assert fine(app) and app.title[0].value, said(app)
    if page != "stories":  # which shows no model
        assert "Model: **english" in said(app)
    if page not in ("stories", "training"):  # what there is of a training depends on the files of the run
        assert app.download_button and cells(app)
    asked = []
    hook = register_module_forward_pre_hook(lambda module, inputs: asked.append(type(module).__name__))
    try:
        assert fine(opened(page))
    finally:
        hook.remove()
    assert asked == []


def test_the_first_page_is_found_by_its_own_name_too():
    app = AppTest.from_file(str(APP), default_timeout=LONGEST)
    app._page_hash = calc_hash(FIRST)
    app.query_params.update(model=TINY, text="the dog is [MASK].")
    app.run()
    assert fine(app) and app.title[0].value == "What word is hidden?", said(app)
    assert app.session_state.text == "the dog is [MASK]."


@pytest.mark.parametrize(
    ("page", "odd"), [*(("play", odd) for odd in ODD), ("attention", "html"), ("attention", "very long")]
)
def test_odd_text_is_shown_or_explained(page, odd, folders):
    app = opened(page, folder=folders["pretrained"], text=ODD[odd])
    assert fine(app), said(app)
    assert ("Only 96 tokens are read here" in boxes(app)) == (odd == "very long")
    assert "[UNK]" in boxes(app) or odd != "chinese"


@pytest.mark.parametrize("odd", ["html", "emoji", "very long"])
def test_odd_passage_and_question(odd, folders):
    app = opened("tasks", folder=folders["reader"], question="who likes walks?", text=ODD[odd])
    assert fine(app), said(app)
    assert ("overlapping" in said(app)) == (odd == "very long")
    app.text_input(key="question").set_value(ODD[odd]).run()
    assert not app.exception and "This view failed" not in boxes(app)


@pytest.mark.parametrize("page", ["play", "attention"])
def test_empty_text_gets_a_friendly_box(page, folders):
    for text in ("", " \n\t", "\x00\x01"):
        app = opened(page, folder=folders["pretrained"], text=text)
        assert not app.exception and "empty" in boxes(app), repr(text)


def test_empty_question_and_passage(folders):
    app = opened("tasks", folder=folders["reader"])
    app.text_input(key="question").set_value(" ").run()
    assert fine(app) and "needs a question of its own" in said(app)
    app = opened("tasks", folder=folders["reader"], question="who?", text="")
    assert not app.exception and "passage is empty" in said(app)


@pytest.mark.parametrize("folder", ["no-such-model", "../../nowhere", "a/b/c", "x" * 5000, "\x00"])
def test_unknown_models_are_named(folder):
    app = opened("stories", folder=folder)  # the bar is the same on all pages
    assert not app.exception
    assert "bundled" in boxes(app) or fine(app) and not folder.strip("\x00")


def test_changed_checkpoint_is_read_again(folders, tmp_path):
    import os
    import shutil

    mine = tmp_path / "mine"
    shutil.copytree(folders["pretrained"], mine)
    app = opened(folder=str(mine))
    assert fine(app)
    (mine / "model.safetensors").write_bytes(b"gone")
    os.utime(mine / "model.safetensors", (2e9, 2e9))
    assert "damaged" in said(app.run())


@pytest.mark.parametrize(
    ("page", "head"), [("play", "bare"), ("Answers", "pretrained"), ("Opinion", "reader"), ("Opinion", "chooser")]
)
def test_missing_head_falls_back_to_the_bundled_model_and_says_so(page, head, folders):
    link = {} if page == "play" else {"tasks_tab": page}
    app = opened("tasks" if link else page, folder=folders[head], **link)
    assert fine(app), said(app)
    assert "has no head for this task" in said(app)


@pytest.mark.parametrize("odd", MARKED)
def test_odd_text_gets_labels(odd, folders):
    app = opened("tasks", folder=folders["tagger"], text=ODD[odd])  # and the bundled model for whole texts
    assert fine(app), said(app)
    assert ("left out" in boxes(app)) == (odd == "very long")


def test_empty_text_gets_no_labels(folders):
    app = opened("tasks", folder=folders["tagger"], text=" \n")
    assert not app.exception and "text is empty" in said(app)


def test_labels_of_a_model_of_ones_own(folders):
    app = opened("tasks", folder=folders["classifier"], text="my dog is hairy", pair="he likes walks")
    assert fine(app), said(app)
    shown = next(metric.value for metric in app.metric if metric.label == "Its probability")
    assert shown == percent(sorted_shares(folders["classifier"])[0])
    assert len([caption for caption in app.caption if "Check: the attributions sum to" in caption.value]) == 1


def sorted_shares(folder: str) -> list[float]:
    from bertlab.corpora.examples import TextExample
    from bertlab.tasks.registry import open_task

    model, task = open_task(folder)
    prediction = next(task.predict(model, [TextExample("1", "my dog is hairy", "he likes walks")]))
    return sorted(prediction.probabilities.values(), reverse=True)


def test_a_model_that_gives_a_number(folders):
    app = opened("tasks", folder=folders["number"])
    assert fine(app), said(app)
    assert "Predicted number" in [metric.label for metric in app.metric]


@pytest.mark.parametrize("word", ["999", "²"])
def test_a_link_to_a_word_that_is_not_there(word, folders):
    assert fine(opened("tasks", folder=folders["tagger"], text="the dog sleeps", word=word))


def test_the_word_of_a_link_and_the_pressed_one(folders):
    app = opened("tasks", folder=folders["tagger"], text="the the the dog sleeps", word="4")
    assert fine(app), said(app)
    assert app.main.pills[-1].value == 4
    app.main.pills[-1].set_value(2).run()  # equal words are different chips
    assert fine(app) and app.query_params["word"] == "2"
