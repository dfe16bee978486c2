"""Play without a browser: two versions of a sentence, the visitor's guess, the film, and the left-to-right model."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest
import torch
from pages import TINY, boxes, cells, fine, opened, run, said

from app.explore import FIRST, PAGES
from app.shared.model.bundled import DEFAULT_MODEL, LEFT_TO_RIGHT
from app.shared.page import sureness
from app.shared.text import texts
from app.shared.text.texts import NOTES, TIRED
from app.views.play import film, sides
from app.views.play.gap import Version, named
from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.percent import percent
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.from_left import fill_from_left
from bertlab.explain.words.guess import guess_words
from tests.alike import assert_alike

TEXT, OTHER = "my dog is [MASK].", "my cat is [MASK]."
WIDE = TIRED.replace("tired", "wide")
FILM, SIDES = "Through the layers", "Left to right, or both sides?"
READER = LEFT_TO_RIGHT[TINY]
ROUNDED = 2e-3  # what the moving picture gets has three decimals


def answers(app) -> list[str]:
    return [one.value.split(" :")[0] for one in app.main.subheader]


def in_link(app, *keys: str) -> dict[str, str]:
    return {key: "".join(app.query_params[key]) for key in keys if key in app.query_params}


def table(app, number: int = 0):
    return [frame.value for frame in app.main.dataframe if "rank" in frame.value][number]


def field(app, label: str):
    return next(one for one in app.main.text_input if one.label.startswith(label))


@pytest.fixture
def pictures(monkeypatch):
    """Collects the data of each moving picture of a page."""
    found = []
    monkeypatch.setattr(film, "word_component", lambda data, key, on_view=None: found.append(json.loads(data)) or {})
    return found


@pytest.fixture(scope="module")
def english():
    return BertForPreTraining.from_pretrained(DEFAULT_MODEL), Tokenizer.from_pretrained(DEFAULT_MODEL)


@pytest.mark.parametrize("pair", texts.ENGLISH.play.values(), ids=texts.ENGLISH.play)
def test_what_the_page_says_of_an_example_is_what_english_answers(pair, english):
    one, two = (guess_words(*english, text).fill for text in pair.values())
    sure = min(one.probabilities[0], two.probabilities[0]) >= sureness.GAP
    assert one.tokens[0] != two.tokens[0] and sure == (pair["text"] != TIRED)
    assert pair["text"] in NOTES


def test_the_first_screen_answers_for_both_and_names_the_bias():
    app = opened()
    assert fine(app), said(app)
    assert answers(app) == ["she", "he"] and "**bias**" in said(app)
    assert said(app).count("Control: random weights say") == 2
    assert "The first guess changes from “**she**”" in said(app)
    assert len(table(app)) == 10 and app.query_params == {}


def test_a_weak_guess_is_not_shown_as_one():
    app = opened(text="The cat sat on the mat because it was [MASK].")
    assert answers(app) == ["Not sure"] and "bias" not in said(app)
    app = opened(text=TIRED, other=WIDE)
    assert answers(app) == ["Not sure", "Not sure"]
    assert "(not sure: " in said(app) and "behind" not in said(app)


def test_the_visitors_guess_stands_beside_those_of_the_model(english):
    app = opened(guess="He")
    expected = guess_words(*english, texts.NURSE, "he")
    assert expected.rank == 2
    told = said(app)
    assert f"Your guess **he** (pink): the model's number 2, {percent(expected.probability)}" in told
    assert "Your guess **he** (pink): the model's number 1, " in told
    field(app, "Your guess").set_value("purple").run()
    assert in_link(app, "guess") == {"guess": "purple"} and len(table(app)) == 12
    field(app, "Your guess").set_value("soldiers' *hat*").run()
    assert fine(app) and "“soldiers' *hat*” is not one word of the vocabulary" in said(app)
    app.pills(key="example_choice").set_value("war, strike").run()
    assert field(app, "Your guess").value == "" and in_link(app, "guess") == {}


def test_what_an_example_shows_is_not_said_of_another_pair():
    app = opened(other="The king said that [MASK] was tired.")
    assert answers(app) == ["she", "he"] and "bias" not in said(app)


def test_the_guesses_of_the_model_can_wait():
    app = opened(guess_first="true", play_view=FILM)
    assert fine(app) and answers(app) == [] and not cells(app)
    field(app, "Your guess").set_value("they").run()
    assert answers(app) == ["she", "he"] and len(cells(app)) == 2


def test_one_press_swaps_the_sentence():
    app = opened()
    large = [html.proto.body for html in app.main.get("html")]
    app.main.segmented_control[0].set_value(1).run()
    assert in_link(app, "version") == {"version": "2"} and fine(app)
    assert [html.proto.body for html in app.main.get("html")] != large
    assert in_link(opened(version="2"), "version") == {"version": "2"}
    assert in_link(opened(version="2", text=TEXT), "version") == {}


def test_another_sentence_leaves_the_other_version_of_the_first(folders):
    app = opened(folder=folders["pretrained"], text=TEXT, other=OTHER)
    assert len(answers(app)) == 2
    field(app, "Your sentence").set_value("he likes [MASK].").run()
    assert fine(app) and field(app, "Another version").value == "" and len(answers(app)) == 1
    field(app, "Another version").set_value("she likes [MASK].").run()
    assert len(answers(app)) == 2 and in_link(app, "other") == {"other": "she likes [MASK]."}


@pytest.mark.parametrize("other", ["", "my dog is hairy.", TEXT, f" {TEXT}", "no gap here", "\x00"])
def test_a_version_without_the_gap_is_left_out(other, folders):
    app = opened(folder=folders["pretrained"], text=TEXT, other=other)
    assert fine(app) and len(answers(app)) == 1
    assert ("does not have this gap" in boxes(app)) == other.endswith(("hairy.", "here"))


def test_a_text_without_a_gap_offers_its_words(folders):
    app = opened(folder=folders["pretrained"], text="my dog is hairy.", other="my dog was hairy.")
    assert fine(app) and answers(app) == [] and "Press a word" in boxes(app)
    app.main.pills[1].set_value([2]).run()
    assert fine(app), said(app)
    assert len(answers(app)) == 2 and in_link(app, "mask") == {"mask": "2"}
    assert "The hidden word, green: " in said(app)
    assert set(table(app)["text"]) == {"my [MASK]g is hairy.", "my [MASK]g was hairy."}  # do ##g is two tokens


def test_one_of_several_gaps_is_guessed(folders):
    app = opened(folder=folders["pretrained"], text="my [MASK] is [MASK].", other="my [MASK] was [MASK].", gap="2")
    assert fine(app), said(app)
    assert in_link(app, "gap") == {"gap": "2"} and len(answers(app)) == 2


def test_names_tell_versions_apart():
    def names(*pair):
        return named([Version(text, 0, None) for text in pair])

    assert names("The nurse said.", "The soldier said.") == ["nurse", "soldier"]
    assert names("It was wide.", "It was very wide.") == ["without", "very"]
    assert names("a b", "c d") == ["a b", "c d"]


def test_the_model_beside_it_answers_too(folders):
    app = opened(folder=folders["pretrained"], text=TEXT, versus="random weights")
    assert fine(app), said(app)
    assert len(answers(app)) == 2 and said(app).count("Control:") == 1


def test_the_cells_show_the_same(folders, pictures):
    app = opened(folder=folders["pretrained"], text=TEXT, other=OTHER, guess="baker", play_view=FILM)
    assert fine(app), said(app)
    _, names = run(cells(app)[0])
    expected = [p for guess in names["found"].values() for p in guess.with_word.probabilities]
    assert list(table(app)["probability"]) == pytest.approx(expected, abs=1e-5)
    widget, _ = run(cells(app)[1])
    assert_alike(json.loads(widget.data)["sets"], pictures[0]["sets"], abs=ROUNDED)


def test_the_film_follows_the_shown_version(folders, pictures):
    opened(folder=folders["pretrained"], text=TEXT, other=OTHER, play_view=FILM)
    opened(folder=folders["pretrained"], text=TEXT, other=OTHER, play_view=FILM, version="2")
    first, second = pictures
    assert first["choose"] and not second["choose"] and first["tokens"] != second["tokens"]
    assert [len(picture["sets"]) for picture in pictures] == [2, 2]


def test_each_station_leads_to_its_page_with_the_same_text_and_model(folders, pictures):
    opened(FIRST, folder=folders["pretrained"], text="my dog is hairy.", mask="4", play_view=FILM)
    (picture,) = pictures
    assert len(picture["links"]) == len(picture["stations"]) == 2 + 2 + 2
    for address, name in dict(picture["links"]).items():
        page, asked = urlsplit(address).path, dict(parse_qsl(urlsplit(address).query))
        assert name.startswith(PAGES[page][0]) and asked["folder"] == folders["pretrained"]
        app = opened(page, **asked)
        assert fine(app), said(app)
        key = "embeddings_yours" if page == "embeddings" else "text"
        assert "[MASK]" in app.text_area(key=key).value


def test_a_text_too_long_for_an_address_has_no_links(folders, pictures):
    app = opened(FIRST, folder=folders["pretrained"], play_view=FILM)
    field(app, "Your sentence").set_value("my [MASK] " * 1000).run()
    assert fine(app) and pictures[-1]["links"] == [] and "left out" in boxes(app)
    assert "the stations lead nowhere" in said(app)


def beside(text: str = TIRED, other: str = WIDE):
    return opened(model=TINY, text=text, other=other, play_view=SIDES)


def test_from_the_left_both_versions_are_the_same_and_for_bert_they_are_not():
    app = beside()
    assert fine(app), said(app)
    assert "From the left alone, all guesses are **exactly the same** in both versions" in said(app)
    assert "From both sides, the first guess changes from “**animal**”" in said(app) and "to “**street**”" in said(app)
    parts = [
        list(zip(each["token"], each["probability"], strict=True))
        for _, each in table(app, 1).groupby("text", sort=False)
    ]
    assert_alike(parts[0], parts[1])
    assert parts[2] != parts[3]


@torch.inference_mode()
def test_what_follows_changes_nothing_even_if_the_model_gets_it():
    model, tok = (kind.from_pretrained(READER) for kind in (BertForPreTraining, Tokenizer))
    logits = [model(**tok([text])).prediction_logits[0] for text in (TIRED, WIDE)]
    at = fill_from_left(model, tok, TIRED).position
    torch.testing.assert_close(logits[0][:at], logits[1][:at])
    assert not torch.allclose(logits[0][at + 3], logits[1][at + 3], atol=1e-2)
    alone = fill_from_left(model, tok, TIRED, k=1)
    assert alone.probabilities[0] == pytest.approx(float(logits[0][at - 1].softmax(-1).max()), abs=1e-5)


def test_where_the_left_differs_the_left_to_right_model_changes_too():
    app = beside(*texts.TOWN.play["a clue on the left"].values())
    assert fine(app) and "From the left alone, the first guess changes from “**hairy**”" in said(app)
    assert "exactly the same" not in said(app)


def test_a_single_text_is_enough_and_several_gaps_are_too_many():
    assert "From both sides, the first guess is “**animal**”" in said(beside(other=""))
    told = boxes(beside("[MASK] and [MASK]", ""))
    assert "holds 2 [MASK]" in told and "view failed" not in told


def test_a_model_without_a_left_to_right_twin_leads_to_one():
    app = opened(play_view=SIDES)
    assert fine(app), said(app)
    next(button for button in app.main.button if button.label == f"Use {TINY}").click().run()
    assert fine(app), said(app)
    assert "exactly the same" in said(app) and field(app, "Your sentence").value == TIRED


def test_the_sentence_is_computed():
    one, two = Fill(1, ["a", "b"], [0.9, 0.1], 0.0), Fill(1, ["b", "a"], [0.8, 0.2], 0.0)
    stays, weak = Fill(1, ["a", "c"], [0.4, 0.2], 0.0), Fill(1, ["c"], [0.1], 0.0)
    assert "exactly the same" in sides.change([one, one])
    assert sides.change([one, two]) == f"the first guess changes from “**a**” ({percent(0.9)}) to “**b**” (80%)"
    assert sides.change([one, stays]).endswith("in the other version its probability is 40%")
    assert sides.change([weak]) == "the first guess is “c” (not sure: 10%)"


def test_the_left_to_right_model_is_offered_nowhere_else():
    app = opened("masking")
    assert READER not in app.sidebar.selectbox(key="model").options
    assert READER not in app.sidebar.selectbox(key="versus").options
    assert fine(opened("masking", model=READER))  # the first model instead
    told = opened("masking", folder=READER, text=TIRED)
    assert not told.exception and "This is a left-to-right model" in boxes(told)
