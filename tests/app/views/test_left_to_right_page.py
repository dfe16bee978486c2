"""Left to right: a left-to-right model beside BERT on one text."""

import pytest
import torch
from pages import TINY, boxes, fine, opened, said

from app.shared.model.bundled import LEFT_TO_RIGHT
from app.shared.text.texts import SIDES, TIRED
from app.views.left_to_right import sides
from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.percent import percent
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.from_left import fill_from_left
from tests.alike import assert_alike

WIDE = TIRED.replace("tired", "wide")


def beside(text=None, other=None, **link):
    given = {"sides_text": text, "sides_other": other}
    link |= {key: value for key, value in given.items() if value is not None}
    return opened("left_to_right", **link)


def test_from_the_left_both_versions_are_the_same_and_for_bert_they_are_not():
    app = beside()
    assert fine(app), said(app)
    assert app.text_area(key="sides_text").value == TIRED and app.text_area(key="sides_other").value == WIDE
    told = said(app)
    assert "From the left alone, all guesses are **exactly the same** in both versions" in told
    assert "From both sides, the first guess **changes** from “**animal**”" in told and "to “**street**”" in told
    assert f"Model: **{LEFT_TO_RIGHT}** and **{TINY}**" in told
    assert "compared with" not in said(beside(versus="random weights"))  # which this page does not show
    table = next(frame.value for frame in app.main.dataframe if "version" in frame.value)
    halves = {
        key: list(zip(each["token"], each["probability"], strict=True))
        for key, each in table.groupby(["model", "version"])
    }
    assert_alike(halves[sides.LEFT, 1], halves[sides.LEFT, 2])
    assert halves[sides.BOTH, 1] != halves[sides.BOTH, 2]


@torch.inference_mode()
def test_what_follows_changes_nothing_even_if_the_model_gets_it():
    model, tok = (kind.from_pretrained(LEFT_TO_RIGHT) for kind in (BertForPreTraining, Tokenizer))
    logits = [model(**tok([text])).prediction_logits[0] for text in (TIRED, WIDE)]
    at = fill_from_left(model, tok, TIRED).position
    torch.testing.assert_close(logits[0][:at], logits[1][:at])
    assert not torch.allclose(logits[0][at + 3], logits[1][at + 3], atol=1e-2)
    alone = fill_from_left(model, tok, TIRED, k=1)
    assert alone.probabilities[0] == pytest.approx(float(logits[0][at - 1].softmax(-1).max()), abs=1e-5)


def test_where_the_left_differs_the_left_to_right_model_changes_too():
    app = beside(*SIDES["a clue on the left"].values())
    assert fine(app) and "From the left alone, the first guess **changes** from “**hairy**”" in said(app)
    assert "exactly the same" not in said(app)


@pytest.mark.parametrize(("other", "same"), [("", True), (TIRED, True), (f"  {TIRED} ", True), (WIDE, False)])
def test_a_single_text_is_enough(other, same):
    app = beside(TIRED, other)
    assert fine(app), said(app)
    assert ("From both sides it is “**animal**”" in said(app)) == same
    assert ("Orange:" in said(app)) != same


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "text is empty"),
        (" \n\x00", "text is empty"),
        ("my dog is hairy.", "holds no [MASK]"),
        ("[MASK] and [MASK]", "holds 2 [MASK]"),
        ("word " * 300 + "[MASK]", "shorten the text"),
    ],
)
def test_texts_without_one_gap_get_a_friendly_box(text, told):
    app = beside(TIRED, "")
    app.text_area(key="sides_text").set_value(text).run()
    assert not app.exception and told in boxes(app) and "view failed" not in boxes(app)


def test_an_error_says_which_version_it_means():
    told = boxes(beside(TIRED, "no gap here"))
    assert "The other version holds no [MASK]" in told and "view failed" not in told
    assert "The other version is empty" not in boxes(beside(TIRED, ""))


def test_a_text_of_which_the_models_read_much_in_pieces_says_so():
    bank = "The central bank raised interest [MASK] to four per cent on Thursday."
    pieces = "of these 11 words in its vocabulary. It reads the others in pieces"
    assert pieces in said(beside(bank, ""))
    for example in SIDES.values():
        assert "in pieces" not in said(beside(*example.values()))


def test_a_weak_guess_is_called_one():
    told = said(beside("[MASK]", ""))
    assert told.count("Not sure") == 2
    assert "Not sure" not in said(beside(TIRED, WIDE))


def test_odd_texts_are_text():
    for text in ("<b>bold</b> *a* [mask] `c`", "[MASK] is hairy", "动物没有过马路 [MASK]", "a [MASK]" + " word" * 300):
        app = beside(text, "")
        assert fine(app), said(app)
        assert "it knows less of other texts" in said(app)
        assert ("left out" in boxes(app)) == ("word word" in text)


def test_the_sentence_is_computed():
    one, two = Fill(1, ["a", "b"], [0.9, 0.1], 0.0), Fill(1, ["b", "a"], [0.8, 0.2], 0.0)
    stays = Fill(1, ["a", "c"], [0.4, 0.2], 0.0)
    assert "exactly the same" in sides.change([one, one])
    assert sides.change([one, two]) == f"the first guess **changes** from “**a**” ({percent(0.9)}) to “**b**” (80%)"
    assert sides.change([one, stays]).endswith("in the other version its probability is 40%")


def test_the_left_to_right_model_is_offered_nowhere_else():
    app = opened("masking")
    assert LEFT_TO_RIGHT not in app.sidebar.selectbox(key="model").options
    assert LEFT_TO_RIGHT not in app.sidebar.selectbox(key="versus").options
    assert fine(opened("masking", model=LEFT_TO_RIGHT))  # the first model instead
    told = opened("masking", folder=LEFT_TO_RIGHT, text=TIRED)
    assert not told.exception and "This is a left-to-right model" in boxes(told)
