"""Play without a browser: two versions of a sentence, the visitor's guess, and each view behind it."""

import json
import math
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import pytest
from pages import TINY, boxes, cells, fine, opened, run, said

from app.explore import FIRST, PAGES
from app.shared.model.bundled import DEFAULT_MODEL, LEFT_TO_RIGHT
from app.shared.page import confidence
from app.shared.text import texts
from app.shared.text.mask import context, word_of, write_masks
from app.shared.text.texts import NOTES, TIRED
from app.views.play import film, guesses, sides
from app.views.play.gap import Version, named, version
from bertlab import BertForPreTraining, Tokenizer
from bertlab.draw.percent import percent
from bertlab.explain.text import encode
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.guess import guess_words
from bertlab.explain.words.surprisal import pseudo_log_likelihood, sweep
from tests.alike import assert_alike

TEXT, OTHER = "my dog is [MASK].", "my cat is [MASK]."
WIDE = TIRED.replace("tired", "wide")
FILM, SIDES = "Through the layers", "Left to right, or both sides?"
LAYERS, WHY, WHOLE = "Layer by layer", "Why this word?", "Whole text"
MARKDOWN = "<b>x</b> *a* `b` $c$ :smile: [d](e) שלום 动物 🐕 [MASK]"
READER = LEFT_TO_RIGHT[DEFAULT_MODEL]
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
    shown = SimpleNamespace(show=lambda key, data, on_view=None: found.append(json.loads(data)))
    monkeypatch.setattr(film, "WORD", shown)
    return found


@pytest.fixture(scope="module")
def english():
    return BertForPreTraining.from_pretrained(DEFAULT_MODEL), Tokenizer.from_pretrained(DEFAULT_MODEL)


@pytest.mark.parametrize("pair", texts.ENGLISH.play.values(), ids=texts.ENGLISH.play)
def test_what_the_page_says_of_an_example_is_what_english_answers(pair, english):
    one, two = (guess_words(*english, text).fill for text in pair.values())
    sure = min(one.probabilities[0], two.probabilities[0]) >= confidence.FAINT
    assert one.tokens[0] != two.tokens[0] and sure == (pair["text"] != TIRED)
    assert pair["text"] in NOTES


def test_the_first_screen_answers_for_both_and_names_the_bias():
    app = opened()
    assert fine(app), said(app)
    assert answers(app) == ["she", "he"] and "**bias**" in said(app)
    assert said(app).count("Control: random weights say") == 1
    assert "The first guess changes from “**she**”" in said(app)
    assert len(table(app)) == 10 and app.query_params == {}


def test_a_guess_more_likely_wrong_than_right_has_a_question_mark():
    app = opened(text=texts.WAR, other=texts.WAR.replace("war", "strike"))
    assert answers(app) == ["years?", "hours?"] and said(app).count("(not sure: ") == 2
    assert all(":gray[Not sure]" in one.value for one in app.main.subheader) and "wars last longer" in said(app)


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
    assert "A sentence of your own goes into the field above." in said(app)
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


def test_lines_of_another_page_stay_until_they_are_joined_by_hand():
    app = opened("attention", model=TINY, text="my dog\nis [MASK].")
    app.switch_page("views/play/page.py").run()
    assert fine(app) and answers(app) and app.text_area(key="text").value == "my dog\nis [MASK].", said(app)
    app.text_area(key="text").set_value("my cat is ___.").run()
    assert fine(app) and app.text_input(key="text").value == "my cat is [MASK]."


def test_one_press_swaps_the_sentence():
    app = opened(model=TINY)
    large = [html.proto.body for html in app.main.get("html")]
    app.main.segmented_control[0].set_value(1).run()
    assert in_link(app, "version") == {"version": "2"} and fine(app)
    assert [html.proto.body for html in app.main.get("html")] != large
    assert in_link(opened(model=TINY, version="2", text=TEXT), "version") == {}


def test_another_sentence_leaves_the_other_version_of_the_first(folders):
    app = opened(folder=folders["pretrained"], text=TEXT, other=OTHER)
    assert len(answers(app)) == 2
    field(app, "Your sentence").set_value("he likes [MASK].").run()
    assert fine(app) and field(app, "Another version").value == "" and len(answers(app)) == 1
    field(app, "Another version").set_value("she likes [MASK].").run()
    assert len(answers(app)) == 2 and in_link(app, "other") == {"other": "she likes [MASK]."}


@pytest.mark.parametrize("other", ["my dog is hairy.", f" {TEXT}", "\x00"])
def test_a_version_without_the_gap_is_left_out(other, folders):
    app = opened(folder=folders["pretrained"], text=TEXT, other=other)
    assert fine(app) and len(answers(app)) == 1
    assert ("does not have this gap" in boxes(app)) == other.endswith("hairy.")


def test_of_a_text_without_a_gap_the_last_word_is_hidden_until_another_is_pressed(folders):
    app = opened(folder=folders["pretrained"], text="my dog is hairy.", other="my dog was hairy.")
    assert fine(app) and answers(app) and not in_link(app, "mask"), said(app)
    first = app.main.pills[1].value
    app.main.pills[1].set_value([]).run()
    assert fine(app) and app.main.pills[1].value == first and len(first) == 1
    app.main.pills[1].set_value([2, *first]).run()
    assert fine(app), said(app)
    assert len(answers(app)) == 2 and in_link(app, "mask") == {"mask": "2"}
    assert "The hidden word: dog." in said(app) or "The hidden word, green: dog." in said(app)
    assert set(table(app)["text"]) == {"my [MASK] is hairy.", "my [MASK] was hairy."}  # do ##g is one word


def test_one_of_several_gaps_is_guessed(folders):
    app = opened(folder=folders["pretrained"], text="my [MASK] is [MASK].", other="my [MASK] was [MASK].", gap="2")
    assert fine(app), said(app)
    assert in_link(app, "gap") == {"gap": "2"} and len(answers(app)) == 2


def test_names_tell_versions_apart():
    def names(*pair):
        return named([Version(text, 0, None, text) for text in pair])

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
    expected = [p for guess in (names["found_1"], names["found_2"]) for p in guess.with_word.probabilities]
    assert list(table(app)["probability"]) == pytest.approx(expected, abs=1e-5)
    widget, _ = run(cells(app)[1])
    assert_alike(json.loads(widget.data)["sets"], pictures[0]["sets"], abs=ROUNDED)


def test_the_film_follows_the_shown_version(folders, pictures):
    opened(folder=folders["pretrained"], text=TEXT, other=OTHER, play_view=FILM)
    opened(folder=folders["pretrained"], text=TEXT, other=OTHER, play_view=FILM, version="2")
    first, second = pictures
    assert first["choose"] and not second["choose"] and first["tokens"] != second["tokens"]
    assert [len(picture["sets"]) for picture in pictures] == [2, 2]


def test_the_film_leads_to_heads_of_the_model_that_it_shows(pictures):
    opened(model="english-names", text=TEXT, play_view=FILM)
    assert "model=english&" in json.dumps(pictures[0]) and "model=english-names" not in json.dumps(pictures[0])


def test_a_press_in_the_film_is_told_from_one_in_the_film_of_another_text_or_gap(folders, monkeypatch):
    pressed = []
    shown = SimpleNamespace(show=lambda key, data, on_view: pressed.append((key, on_view.args[-1])))
    monkeypatch.setattr(film, "WORD", shown)
    for link in ({"text": "my [MASK] is [MASK]."}, {"text": "my [MASK] was [MASK]."}, {"gap": "2"}):
        opened(**{"text": "my [MASK] is [MASK]."} | link, folder=folders["pretrained"], play_view=FILM)
    assert all(shown == read for shown, read in pressed) and len(set(pressed)) == 3


def test_each_layer_leads_to_a_head_of_it_with_the_same_text_and_model(folders, pictures):
    opened(FIRST, folder=folders["pretrained"], text="my dog is hairy.", mask="1", play_view=FILM)
    (picture,) = pictures
    assert picture["stations"][:2] == ["Pieces", "Embeddings"] and len(picture["links"]) == 2 + 2
    for layer, (address, name) in enumerate(picture["links"][2:], 1):
        page, asked = urlsplit(address).path, dict(parse_qsl(urlsplit(address).query))
        assert name.startswith(PAGES[page][0]) and asked["folder"] == folders["pretrained"]
        app = opened(page, **asked)
        assert fine(app), said(app)
        assert "[MASK]" in app.session_state["text"] and asked["head"].startswith(f"{layer}-")


def test_a_text_too_long_for_an_address_has_no_links(folders, pictures):
    app = opened(FIRST, folder=folders["pretrained"], play_view=FILM)
    field(app, "Your sentence").set_value("my [MASK] " * 1000).run()
    assert fine(app) and pictures[-1]["links"] == [] and "left out" in boxes(app)


@pytest.mark.parametrize("view", [LAYERS, WHY, WHOLE])
def test_each_view_and_the_cells_it_shows(view, folders):
    app = opened(folder=folders["pretrained"], text=TEXT, play_view=view, versus=TINY)
    assert fine(app), said(app)
    assert len(cells(app)) == 2 * 2 and (guesses.EVERY in said(app)) == (view == LAYERS)
    for code in cells(app)[2:]:
        assert run(code)[0].to_dict()
    assert all(buttons in [button.label for button in app.download_button] for buttons in ("CSV", "PNG", "SVG"))


@pytest.mark.usefixtures("every_point")
def test_why_this_word_adds_up():
    app = opened(model=TINY, text="my dog is [MASK]. he likes walks.", play_view=WHY)
    assert answers(app) == ["hairy"] and "**dog** (+" in said(app)
    why = next(frame.value for frame in app.main.dataframe if "contribution" in frame.value)
    _, names = run(cells(app)[1])
    assert list(why["contribution"]) == pytest.approx(names["found"].values.tolist(), abs=1e-5)
    assert list(why["random weights"]) == pytest.approx(names["control"].values.tolist(), abs=1e-5)


def test_the_views_follow_the_shown_version_and_the_chosen_gap(folders):
    link = dict(folder=folders["pretrained"], text="my [MASK] is [MASK].", other="my [MASK] was [MASK].", gap="2")
    app = opened(**link, version="2", play_view=LAYERS)
    assert fine(app), said(app)
    _, names = run(cells(app)[-1])
    assert repr(link["other"]) in cells(app)[-1] and names["lens"].position == 4


@pytest.mark.parametrize(
    ("view", "text", "place"),
    [(WHY, "my dog is hairy", "a,-1,²"), (LAYERS, "a [MASK] [MASK]", "999"), (WHOLE, "my dog", "999")],
)
def test_links_with_impossible_places_do_no_harm(view, text, place, folders):
    app = opened(folder=folders["pretrained"], text=text, play_view=view, mask=place, at=place, gap=place)
    assert fine(app), said(app)


def test_gaps_go_along_to_a_model_with_other_tokens():
    app = opened(model=TINY, text="penguins are flightless birds.", mask="2,4", versus="english-scratch")
    assert fine(app), said(app)
    assert "'[MASK] are [MASK] birds.'" in cells(app)[1]  # of the model beside


def test_a_model_beside_that_must_cut_the_gap_off_says_so():
    told, text = "shorten the text before it", "[MASK] " + "penguins " * 50 + "are [MASK]."
    app = opened(model=TINY, text=text, gap="2", versus="english-scratch", play_view=LAYERS)
    assert not app.exception
    assert {error.value.replace("\\", "") for error in app.error} == {f"Gap 2 is beyond what the model reads: {told}"}
    assert "“**" in said(app)  # the first model's view is there all the same


def test_surprisals_of_the_whole_text(folders):
    app = opened(folder=folders["pretrained"], text=TEXT, play_view=WHOLE)
    model, tok = (kind.from_pretrained(folders["pretrained"]) for kind in (BertForPreTraining, Tokenizer))
    rows = list(sweep(model, tok, TEXT))
    found = next(frame.value for frame in app.main.dataframe if "surprisal" in frame.value)
    assert list(found["surprisal"]) == pytest.approx([row.surprisal for row in rows], abs=1e-5)
    total = pseudo_log_likelihood(rows)
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["Pseudo-log-likelihood"] == f"−{-total:.1f} nats"
    assert shown["Pseudo-perplexity"] == f"{math.exp(-total / len(rows)):,.1f}"
    assert "[MASK] stays a gap" in said(app)


def test_a_whole_text_needs_no_gap_and_a_hidden_word_is_read(folders):
    for mask in ("", "2"):
        app = opened(folder=folders["pretrained"], text="my dog likes walks", mask=mask, play_view=WHOLE)
        assert fine(app) and "stays a gap" not in said(app), said(app)
        assert "'my dog likes walks'" in cells(app)[-1]


def test_the_most_surprising_token_is_shown_first_and_any_other_on_demand(folders):
    link = dict(folder=folders["pretrained"], text="the the dog", play_view=WHOLE)

    def chips(app):
        return next(pills for pills in app.main.pills if pills.label.startswith("The deeper"))

    app = opened(**link)
    worst = int(next(frame.value for frame in app.main.dataframe if "surprisal" in frame.value)["surprisal"].argmax())
    assert chips(app).value == worst and "at" not in app.query_params
    other = (worst + 1) % len(chips(app).options)
    chips(app).set_value(other).run()
    assert fine(app) and app.query_params["at"] == str(other)
    assert chips(opened(**link, at=str(other))).value == other


def test_a_typed_mask_and_pressed_words(folders):
    app = opened(folder=folders["pretrained"], text="the the the dog")
    press = app.main.pills[1]
    press.set_value([1, 2]).run()  # equal words are different chips
    assert fine(app) and in_link(app, "mask") == {"mask": "1,2"}
    app.selectbox(key="versus").set_value("random weights").run()
    assert app.main.pills[1].value == [1, 2]
    app = opened(folder=folders["pretrained"], text=TEXT, mask="2")
    press = app.main.pills[1]
    assert "typed [MASK] stays" in press.help and len(press.value) == 2
    press.set_value([3]).run()
    assert fine(app) and len(app.main.pills[1].value) == 2 and in_link(app, "mask") == {"mask": "3"}


def test_masks_stay_when_the_step_of_the_training_changes():
    app = opened(model=TINY, text="my dog is hairy", mask="2", step="300")
    app.select_slider(key="step").set_value("0").run()
    assert fine(app) and app.main.pills[1].value == [2]


@pytest.mark.parametrize(
    ("view", "text"), [*((view, MARKDOWN) for view in (LAYERS, WHY, WHOLE)), (LAYERS, "word [MASK] " * 500)]
)
def test_odd_texts_in_every_view(view, text, folders):
    app = opened(folder=folders["pretrained"], text=text, play_view=view)
    assert fine(app), said(app)
    assert ("left out" in said(app)) == (len(text) > 1000)


def test_a_pressed_piece_hides_its_whole_word():
    tokenizer = Tokenizer.from_pretrained(TINY)
    encoded = encode(tokenizer, "my huckleberry is here.", None, 32)
    (first, *_, last) = word_of(encoded, 3)
    assert last > first == 2 and encoded.tokens[3].startswith("##")
    assert write_masks("my huckleberry is here.", encoded, 0, [3, last]) == "my [MASK] is here."
    hidden = version("my huckleberry is here.", encoded, [3], 3)
    assert (hidden.text, hidden.gap, hidden.truth) == ("my [MASK] is here.", 0, "huckleberry")


def test_a_gap_is_named_by_its_neighbours_with_dots_where_the_text_goes_on():
    tok = Tokenizer.from_pretrained("storyworld-tiny")
    encoded = encode(tok, "one two six ten [MASK] dog cat the .")
    gap = encoded.tokens.index("[MASK]")
    assert context(encoded, gap, [gap]) == "… two six ten **▢** dog cat the …"
    assert context(encode(tok, "a [MASK]"), 2, [2]) == "a **▢** "
    cut = encode(tok, "penguins are not [MASK] penguins are not birds")
    gap = cut.tokens.index("[MASK]")
    assert context(cut, gap, [gap]) == "penguins are not **▢** penguins are …"
    assert context(cut, gap, [gap - 1, gap]) == "penguins are ▢ **▢** penguins are …", (
        "another hidden word stays hidden"
    )


def beside(text: str = TIRED, other: str = WIDE):
    return opened(text=text, other=other, play_view=SIDES)


def test_from_the_left_both_versions_are_the_same_and_for_bert_they_are_not():
    app = beside()
    assert fine(app), said(app)
    assert "From the left alone, all guesses are **exactly the same** in both versions" in said(app)
    assert "From both sides, the first guess changes from “dog” (not sure: " in said(app)
    assert "to “street” (not sure: " in said(app)
    parts = [
        list(zip(each["token"], each["probability"], strict=True))
        for _, each in table(app, 1).groupby("text", sort=False)
    ]
    assert_alike(parts[0], parts[1])
    assert parts[2] != parts[3]


def test_where_the_left_differs_the_left_to_right_model_changes_too():
    app = beside(*texts.TOWN.play["a clue on the left"].values())
    assert fine(app) and "From the left alone, the first guess changes from “a” (not sure: " in said(app)
    assert "exactly the same" not in said(app) and "*before* the gap differ" in said(app)


def test_a_single_text_is_enough_and_several_gaps_are_too_many():
    assert "From both sides, the first guess is “dog”" in said(beside(other=""))
    told = boxes(beside("[MASK] and [MASK]", ""))
    assert "holds 2 [MASK]" in told and "view failed" not in told


def test_a_model_without_a_left_to_right_twin_leads_to_one():
    app = opened(model=TINY, play_view=SIDES)
    assert fine(app), said(app)
    next(button for button in app.main.button if button.label == f"Use {DEFAULT_MODEL}: {sides.PAIR}").click().run()
    assert fine(app), said(app)
    assert "exactly the same" in said(app) and field(app, "Your sentence").value == texts.OPENED


def test_the_sentence_is_computed():
    one, two = Fill(1, ["a", "b"], [0.9, 0.1], 0.0), Fill(1, ["b", "a"], [0.8, 0.2], 0.0)
    stays, weak = Fill(1, ["a", "c"], [0.4, 0.2], 0.0), Fill(1, ["c"], [0.1], 0.0)
    assert "exactly the same" in sides.change([one, one])
    assert sides.change([one, two]) == f"the first guess changes from “**a**” ({percent(0.9)}) to “**b**” (80%)"
    assert sides.change([one, stays]).endswith("in the other version its probability is 40%")
    assert sides.change([weak]) == "the first guess is “c” (not sure: 10%)"


def test_the_left_to_right_model_is_offered_nowhere_else():
    app = opened("stories", model=READER)  # the first model instead
    assert fine(app) and app.selectbox(key="model").value == DEFAULT_MODEL
    assert READER not in app.selectbox(key="model").options
    assert READER not in app.selectbox(key="versus").options
    told = opened(folder=READER, text=TIRED)
    assert not told.exception and "This is a left-to-right model" in boxes(told)
