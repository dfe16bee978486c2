"""The page of answer spans without a browser: each view, its cells, windows, no answer, and two models."""

import re
from html import unescape
from pathlib import Path

import pages
import pytest
import streamlit
import torch
from pages import cells, fine, run, said, tables
from streamlit.testing.v1 import AppTest

from app.shared.page import progress
from app.shared.page.confidence import ANSWER
from app.shared.page.markdown import END, ISOLATE
from bertlab import BertConfig, BertForQuestionAnswering, Tokenizer
from bertlab.corpora.labelled.squad import read_squad
from bertlab.draw.html.marked import shaded_passage
from bertlab.draw.percent import signed
from bertlab.evaluation.calibration import when_as_sure
from bertlab.explain.spans import answer
from bertlab.io.locate import locate

ENGLISH = Path(__file__).parents[3] / "data" / "english" / "questions-train.json"
TABS = ["The answer", "Starts and ends", "Why this answer?"]
QUESTION, PASSAGE = "who likes walks?", 'my dog "is" \\ hairy. he likes <b>walks</b>.'


def opened(tab: str = TABS[0], **link) -> AppTest:
    return pages.opened("tasks", tasks_tab="Answers", spans_tab=tab, **link)


def read(folder):
    return BertForQuestionAnswering.from_pretrained(folder), Tokenizer.from_pretrained(folder)


@pytest.mark.parametrize(("tab", "versus"), [(TABS[0], "random weights"), *((tab, "nothing") for tab in TABS[1:])])
def test_every_view_and_the_cells_it_shows(tab, versus, folders):
    app = opened(tab, folder=folders["reader"], question=QUESTION, text=PASSAGE, versus=versus)
    assert fine(app), said(app)
    assert len(cells(app)) == (2 if versus != "nothing" else 1)
    for code in cells(app):
        picture, _ = run(code)
        assert getattr(picture, "data", None) is not None and repr(QUESTION) in code
    assert all(buttons in [button.label for button in app.download_button] for buttons in ("CSV", "PNG", "SVG"))


def test_the_answer_is_that_of_the_library(folders):
    app = opened(folder=folders["reader"], question=QUESTION, text=PASSAGE)
    found = answer(*read(folders["reader"]), QUESTION, PASSAGE)
    assert app.metric[0].value == (found.best.text or "no answer")
    table = next(one for one in tables(app) if "score" in one)
    assert list(table["score"]) == pytest.approx([span.score for span in found.spans], abs=1e-4)
    assert signed(found.no_answer_score, "+.1f") in said(app)


SCRIPTS = {
    "chinese": ("谁开发了它？", "《战国无双3》（）是由光荣和ω-force开发的。"),
    "arabic": ("من اشترى الكتاب؟", "اِشْتَرَى أَحْمَدُ الكتابَ من المكتبة في عام 2018."),
    "devanagari": ("किताब किसने खरीदी?", "सीता ने दुकान से हिन्दी की किताब खरीदी।"),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_other_scripts_are_neither_cut_nor_turned(script, tmp_path):
    question, passage = SCRIPTS[script]
    tok = Tokenizer.train([question, passage], vocab_size=200, min_frequency=9)  # letters: any cut is possible
    torch.manual_seed(3)
    sizes = dict(hidden_size=24, num_hidden_layers=1, num_attention_heads=3, intermediate_size=48)
    config = BertConfig(vocab_size=tok.vocab_size, max_position_embeddings=128, initializer_range=0.3, **sizes)
    model = BertForQuestionAnswering(config.changed(no_answer_threshold=1e9)).eval()
    model.save_pretrained(tmp_path, tok)
    app = opened(folder=str(tmp_path), question=question, text=passage)
    assert fine(app), said(app)
    shown = app.metric[0].value
    assert shown.startswith(ISOLATE) == (script == "arabic")
    found = answer(model, tok, question, passage, n=10_000)
    assert shown.strip(ISOLATE + END).replace("\\", "") == found.best.text
    if script != "chinese":
        words = set(re.findall(r"[^\s?؟.।]+", passage))  # marks and vowel signs are no word characters for \w
        assert all({*re.findall(r"[^\s?؟.।]+", span.text)} <= words for span in found.spans)
    html = shaded_passage(found)
    assert 'dir="auto"' in html and unescape(re.sub(r"<style>.*</style>|<[^>]+>", "", html, flags=re.S)) == passage
    assert not re.search(r"<span[^>]*>\w</span>\W*[\u0900-\u0903\u093a-\u094d\u064b-\u065f]", html)


def test_no_answer_is_told_with_the_threshold():
    app = opened(
        model="storyworld-tiny", question="Who sold the horse?", text="Ruth Hill was a baker. She bought a red kite."
    )
    assert app.metric[0].value == "no answer" and "minus that of the best span is above" in said(app)


def test_a_model_that_never_says_no_answer(folders, tmp_path):
    model, tok = read(folders["reader"])
    model.config = model.config.changed(no_answer_threshold=1e9)
    model.save_pretrained(tmp_path / "always", tok)
    app = opened(folder=str(tmp_path / "always"), question=QUESTION, text=PASSAGE)
    assert fine(app) and "it never predicts “no answer”" in said(app)


def test_a_long_passage_is_read_in_windows(folders):
    app = opened(folder=folders["reader"], question=QUESTION, text="the dog likes the baker. " * 25)
    assert fine(app) and "overlapping windows" in said(app)


def test_a_span_with_another_full_stop_is_no_other_answer():
    app = opened(question="Why was it late?", text="The train was late because of snow. We waited.")
    shown = list(tables(app)[0]["answer"])
    assert fine(app) and "because of snow" in shown and "because of snow." not in shown


def test_each_window_is_read_once_and_a_stop_can_be_taken_back(folders, monkeypatch):
    passage, reads, forward = "the baker likes <i>the dog</i>. " * 40, [], BertForQuestionAnswering.forward
    count = len(answer(*read(folders["reader"]), QUESTION, passage).windows)

    def counted(self, **inputs):
        reads.append(len(inputs["input_ids"]))
        return forward(self, **inputs)

    def press_stop(bar, done, total):
        if done == 2 and not pressed:
            pressed.append(total)
            bar.work.stopped = True
            streamlit.rerun()  # what a press of a button comes to

    pressed = []
    monkeypatch.setattr(BertForQuestionAnswering, "forward", counted)
    monkeypatch.setattr(progress.Bar, "__call__", press_stop)
    app = opened(folder=folders["reader"], question=QUESTION, text=passage)
    assert fine(app) and not app.metric and f"Stopped after 2 of {count}" in said(app)
    (go_on,) = [button for button in app.button if button.label == "Continue"]
    go_on.click().run()
    assert fine(app) and app.metric[0].label == "Best guess"  # random weights are never sure
    assert sum(reads) == count > 3


@pytest.mark.parametrize("tab", TABS[1:])
def test_no_answer_in_every_view(tab):
    app = opened(
        tab,
        model="storyworld-tiny",
        question="Who sold the horse?",
        text="Ruth Hill was a baker. She bought a red kite.",
    )
    assert fine(app), said(app)
    assert "no answer" in said(app) + " ".join(metric.value for metric in app.metric)


@pytest.mark.parametrize(
    ("tab", "passage"),
    [(TABS[1], "<script>alert(1)</script>"), (TABS[2], "*a* `b` $c$ [d](e) :smile: " + "word " * 200)],
)
def test_odd_passages(tab, passage, folders):
    app = opened(tab, folder=folders["reader"], question=QUESTION, text=passage)
    assert fine(app), said(app)


def test_the_model_that_answers_anyway_is_not_shown_twice():
    app = opened(model="storyworld-tiny", versus="storyworld-tiny-qa")
    assert fine(app) and len(app.metric) == 2


def test_a_probable_answer_that_was_often_wrong_is_a_guess():
    asked = next(example for example in read_squad(ENGLISH) if example.id == "q05b")
    app = opened(question=asked.question, text=asked.context)
    found = answer(*read("english-questions"), asked.question, asked.context)
    alike = when_as_sure(locate("english-questions"), found.best.probability, asked.context)
    assert fine(app) and found.best.probability > ANSWER and alike.wrong > 1 - ANSWER
    label, _, right = app.metric
    assert right.label == "Right when so sure" and right.value.endswith(f" of {alike.count}")
    assert label.label == "Best guess"
