"""A text whose words the model does not know: the page says so and leads to the model that does."""

import pytest
from pages import facts, fine, opened, said

from app.explore import FIRST
from bertlab import Tokenizer
from bertlab.explain.text import cut_words

NEWS = "The president of France met the German chancellor in Berlin to talk about energy prices."
STORY = "Albert Bowman is a mechanic of Redcliff. Quiet Albert lives on Laurel Avenue with his hen Noodle."
MASKING, LABELS = "masking", "labels"


def fits(app) -> list:
    return [button for button in app.button if (button.key or "").startswith("fit_")]


def test_words_that_are_cut_are_counted_without_marks():
    tokenizer = Tokenizer.from_pretrained("storyworld-tiny")
    assert cut_words(tokenizer, "My dog is hairy, [MASK]!") == (0, 4)
    assert cut_words(tokenizer, "The chancellor met my dog.") == (1, 5)
    assert cut_words(tokenizer, " ... ") == (0, 0)


@pytest.mark.parametrize(
    ("model", "text", "other"), [("storyworld-tiny", NEWS, "english-mini"), ("english-mini", STORY, "storyworld-tiny")]
)
def test_a_text_that_another_model_knows_better_leads_to_it(model, text, other):
    app = opened(FIRST, model=model, text=text)
    assert f"{model} cuts" in said(app).replace("*", "")
    (button,) = fits(app)
    assert button.label == f"Use {other}"
    button.click().run()
    assert fine(app) and not fits(app) and other in facts(app)
    assert app.selectbox(key="model").value == other


@pytest.mark.parametrize("model", ["storyworld-tiny", "english-mini"])
def test_a_text_of_its_own_needs_no_notice(model):
    text = {"storyworld-tiny": STORY, "english-mini": "The man went home and sat by the fire all evening."}[model]
    assert "new to it" not in said(opened(MASKING, model=model, text=text))


def test_labels_say_what_their_model_has_read_where_no_other_has_that_head():
    app = opened(LABELS, label_text=NEWS)
    assert "storyworld-tiny-sentiment cuts" in said(app).replace("*", "") and not fits(app)
