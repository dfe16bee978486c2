"""What a reader chose about heads and words stays, in the link too; what the model said does not."""

import pytest
from test_knockout_page import TEXT, fine, followed, opened, said, word

from app.views.attention.explanation import alike
from bertlab import BertForPreTraining, Tokenizer
from bertlab.explain.words.fill import fill_mask


def test_no_head_off_is_in_the_link(folders):
    def heads(**link):
        return opened("Switch heads off", folder=folders["pretrained"], text=TEXT, **link)

    app = heads()
    assert len(app.multiselect(key="off").value) == 1
    app.multiselect(key="off").set_value([]).run()
    link = {name: value for name, value in app.query_params.items() if "off" in name}
    again = heads(**{name: value[0] if isinstance(value, list) else value for name, value in link.items()})
    assert fine(again) and again.multiselect(key="off").value == []
    app.multiselect(key="off").set_value(["1-2"]).run()
    assert not any("none" in name for name in app.query_params)


def guess(name: str) -> str:
    model, tok = BertForPreTraining.from_pretrained(name), Tokenizer.from_pretrained(name)
    return fill_mask(model, tok, TEXT, k=1)[0].tokens[0]


def test_the_followed_word_is_that_of_the_model_until_another_is_chosen():
    app = opened("Switch heads off", model="storyworld-tiny", text=TEXT, step="0")
    assert word(app) == guess("storyworld-tiny/step-00000")
    app.select_slider(key="step").set_value("end").run()
    last = guess("storyworld-tiny")
    assert fine(app) and word(app) == last != guess("storyworld-tiny/step-00000")
    assert "follow" not in app.query_params
    other = followed(app).options[2]
    followed(app).set_value(other).run()
    app.select_slider(key="step").set_value("0").run()
    assert fine(app) and followed(app).value == other and f"“{other}”" in said(app)
    followed(app).set_value(None).run()
    assert "follow" not in app.query_params


@pytest.mark.parametrize(
    ("correlation", "words"),
    [(0.26, "weakly similar"), (0.5, "moderately similar"), (-0.9, "strongly opposed"), (-0.05, "unrelated")],
)
def test_the_size_of_a_correlation_in_words(correlation, words):
    assert alike(correlation) == words
