"""A weak answer is shown as a guess, in one wording on all pages, and a sure one is not."""

import pytest
from pages import TINY, fine, opened, said

from app.shared.page.confidence import ANSWER, GAP, LABEL, doubt
from bertlab.evaluation.calibration import Bin

RESIGNED = "The finance minister resigned on Tuesday after weeks of protests over the new tax on fuel."


def test_a_weak_answer_names_the_next_best():
    ranked = [("Hanoi", 0.18), ("Hu*é", 0.07), ("Rome", 0.01)]
    assert doubt(ranked, GAP) == "**Not sure**: below 50% it is a guess. Next best: “Hu\\*é” (7.0%)."
    assert doubt([("person", 0.6)], LABEL) == "**Not sure**: below 67% it is a guess."
    assert doubt([("a", 0.67), ("b", 0.3)], ANSWER) == "" and doubt([("a", 0.5), ("b", 0.2)], GAP) == ""

    often_wrong = doubt([("positive", 0.85), ("negative", 0.15)], LABEL, Bin(0.8, 0.9, 100, 61))
    assert often_wrong == "**Not sure**: fewer than 67% were right then. Next best: “negative” (15%)."
    assert doubt([("positive", 0.85), ("negative", 0.15)], LABEL, Bin(0.8, 0.9, 100, 70)) == ""


@pytest.mark.parametrize(
    ("page", "weak", "sure"),
    [
        (
            "tasks",
            {"tasks_tab": "Answers", "question": "Why did the minister resign?", "text": RESIGNED},
            {"model": TINY},
        ),
        ("tasks", {"text": "I checked my watch every five minutes."}, {}),
    ],
)
def test_each_page_says_so(page, weak, sure):
    app = opened(page, **weak)
    assert fine(app) and "**Not sure**: " in said(app)
    assert app.metric[0].label == "Best guess"
    app = opened(page, **sure)
    assert fine(app) and "Not sure" not in said(app)
    assert app.metric[0].label in ("Answer", "Likeliest class")


def test_no_answer_is_no_next_best_of_a_model_that_always_answers():
    passage = "The match was stopped after an hour because the floodlights failed. It will be played again on Tuesday."
    app = opened("tasks", tasks_tab="Answers", question="Why was the match stopped?", text=passage)
    assert fine(app) and "Next best: " in said(app) and "“no answer”" not in said(app).partition("Next best: ")[2][:60]


def test_each_word_says_so():
    app = opened("tasks", model=TINY, text="Rose gave the rose to May in may.", tasks_tab="Names")
    for number in range(0, len(app.main.pills[-1].options), 3):
        app = app.main.pills[-1].set_value(number).run()
        told = [m.value for m in app.main.markdown if m.value.startswith("The label of")]
        assert len(told) == 1, number
