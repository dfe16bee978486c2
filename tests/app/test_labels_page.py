"""Labels of two models side by side."""

from pages import TINY, fine, opened, said


def answered(app) -> list[str]:
    found = [caption.value.replace("\\", "") for caption in app.main.caption]
    return [caption[14:-3] for caption in found if caption.startswith("Labelled by **")]


def test_two_models_label_the_same(folders):
    app = opened("labels", folder=folders["classifier"], versus="storyworld-tiny-sentiment", label_text="the dog " * 99)
    assert fine(app), said(app)
    assert answered(app) == ["classifier", "storyworld-tiny-sentiment", "storyworld-tiny-entities"]
    assert said(app).count("tokens were left out") == 2  # the third one reads a short example of its own
    for name in answered(app)[:2]:
        assert f"too long for **{name}**" in said(app)
    names = [button.key for button in app.main.get("download_button")]
    assert len(names) == len(set(names))


def test_the_pressed_word_is_that_of_both(folders):
    app = opened(
        "labels", folder=folders["tagger"], versus="storyworld-tiny-entities", label_text="Rex met Ruth", word="2"
    )
    assert fine(app), said(app)
    assert answered(app)[-2:] == ["tagger", "storyworld-tiny-entities"]
    titles = [
        m.value for m in app.main.markdown if m.value.startswith("**What contributes") and "for “Ruth”" in m.value
    ]
    assert len(titles) == 2
    app.main.pills[-1].set_value(0).run()
    assert fine(app)
    assert sum("for “Rex”**" in m.value for m in app.main.markdown) == 2


def test_random_weights_are_not_shown_twice(folders):
    app = opened("labels", folder=folders["classifier"], versus="random weights", label_text="the dog")
    assert fine(app), said(app)
    assert answered(app) == ["classifier", "storyworld-tiny-entities"]


def test_at_first_a_text_is_shown_whose_label_comes_from_the_word_that_one_expects():
    app = opened("labels", model=TINY)
    assert fine(app) and app.metric[0].value == "good"
    assert "Without any words the logit of this label is **−3.51**; these words add **+9.51**." in said(app)
    assert "In this text, **delicious** (+4.6) and **in** (+2.8) contribute most to “**good**”" in said(app)
    table = next(one.value for one in app.main.dataframe if "contribution" in one.value)
    assert table["token"][table["contribution"].argmax()] == "delicious"


def test_no_names_are_guessed_in_real_english():
    text = "Barack Obama was born in Hawaii."
    app = opened("labels", label_text=text, label_two="true", label_other=f"{text} It was great.")
    assert fine(app), said(app)
    assert answered(app) == ["english-sentiment", "storyworld-tiny-entities"]
    assert "No bundled model finds names in real English" in said(app)
    words = [option for pills in app.main.pills for option in pills.options]
    assert "Ruth" in words and "Obama" not in words  # the small world's own example
    assert "In the other version the class" in said(app) and "changes its label" not in said(app)
    app = opened("labels", model=TINY, label_text=text)
    assert fine(app) and "No bundled model" not in said(app)
    assert "Obama" in [option for pills in app.main.pills for option in pills.options]
