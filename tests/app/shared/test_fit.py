"""A text whose words the model does not know: the page says so and leads to the model that does."""

import pytest
from pages import facts, fine, opened, said

from app.explore import FIRST
from app.shared.text import texts
from bertlab import Tokenizer
from bertlab.explain.text import rare_words

NEWS = "The president of France met the German chancellor in Berlin to talk about energy prices."
STORY = "Albert Bowman is a mechanic of Redcliff. Quiet Albert lives on Laurel Avenue with his hen Noodle."
LABELS = "tasks"


def fits(app) -> list:
    return [button for button in app.button if (button.key or "").startswith("fit_")]


def test_rare_words_are_counted_without_marks():
    tokenizer = Tokenizer.from_pretrained("storyworld-tiny")
    assert rare_words(tokenizer, "My dog is hairy, [MASK]!") == (0, 4)
    assert rare_words(tokenizer, "The chancellor met my dog.") == (1, 5)
    assert rare_words(tokenizer, "القاهرة هي") == (2, 2)  # one is [UNK], one token as well
    assert rare_words(tokenizer, " ... ") == (0, 0)


@pytest.mark.parametrize(
    ("model", "text", "other"), [("storyworld-tiny", NEWS, "english"), ("english-scratch", STORY, "storyworld-tiny")]
)
def test_a_text_that_another_model_knows_better_leads_to_it(model, text, other):
    app = opened(FIRST, model=model, text=text)
    assert "words in its vocabulary: the others are rare" in said(app)
    (button,) = fits(app)
    assert button.label == f"Use {other}"
    button.click().run()
    assert fine(app) and not fits(app) and other in facts(app)
    assert app.selectbox(key="model").value == other


def test_examples_are_of_the_world_of_their_model():
    models = "english", "storyworld-tiny"
    tokenizers = {model: Tokenizer.from_pretrained(model) for model in models}
    for kind in ("play", "opinions", "questions"):
        for model in models:
            offered = " ".join(" ".join(example.values()) for example in getattr(texts.of(model), kind).values())
            (rare, words), here = (
                rare_words(tokenizers[model], offered),
                rare_words(tokenizers["storyworld-tiny"], offered),
            )
            assert rare < 0.05 * words, (kind, model)
            assert model == "storyworld-tiny" or here[0] > 0.1 * words, kind  # real English is strange to the town


@pytest.mark.parametrize(
    ("model", "question"), [("english-scratch", "Where was Marie Curie"), ("storyworld-tiny", "What did")]
)
def test_a_page_opens_with_the_first_example_of_its_model(model, question):
    app = opened("tasks", tasks_tab="Answers", model=model)
    assert fine(app) and app.text_input(key="question").value.startswith(question)
    last = app.pills(key="example_choice").options[-1]
    app.pills(key="example_choice").set_value(last).run()
    assert fine(app) and app.text_input(key="question").value == last


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("storyworld-tiny", STORY),
        ("english-scratch", "The man went home and sat by the fire all evening."),
        ("english", "القاهرة هي عاصمة مصر وأكبر مدنها."),  # no model has a word of it
        ("english", "The central bank raised interest rates on Thursday."),  # cut words, but no model knows it better
    ],
)
def test_a_text_of_its_own_needs_no_notice(model, text):
    assert "new to it" not in said(opened(FIRST, model=model, text=text))


@pytest.mark.parametrize(
    ("page", "link", "told"),
    [
        (
            "tasks",
            {"tasks_tab": "Answers", "question": "Where?", "text": NEWS},
            "english-questions learned from some sixty thousand",
        ),
        (LABELS, {"text": NEWS}, "english-sentiment learned from film reviews"),
    ],
)
def test_beside_a_text_of_ones_own_stands_what_the_model_has_read(page, link, told):
    """No measure of a text tells news from an article of Wikipedia, so it is said of every text that is no example."""
    app = opened(page, **link)
    assert fine(app) and told in said(app).replace("*", "")
    app = opened(page)
    assert fine(app) and told not in said(app).replace("*", "")


def test_labels_lead_to_the_model_with_that_head():
    app = opened(LABELS, model="storyworld-tiny", text=NEWS)
    assert "storyworld-tiny-sentiment has" in said(app).replace("*", "")
    fits(app)[0].click().run()
    assert fine(app) and not fits(app) and "english-sentiment" in said(app)
