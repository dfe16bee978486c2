"""The page of masked words without a browser: each view, its link, its cell, and two models beside each other."""

import math

import pages
import pandas as pd
import pytest
import torch
from pages import TINY, cells, fine, run, said
from streamlit.testing.v1 import AppTest

from app.views.masking.mask import context
from bertlab import BertConfig, BertForMaskedLM, BertForPreTraining, Tokenizer
from bertlab.draw.percent import percent
from bertlab.explain.ablation import random_control
from bertlab.explain.text import encode
from bertlab.explain.words.fill import fill_mask
from bertlab.explain.words.surprisal import pseudo_log_likelihood, sweep

TABS = ["Fill in", "Layer by layer", "Whole text", "Pretraining's draw", "Next sentence"]
TEXT, PAIR = "my dog is [MASK].", "he likes walks."
MARKDOWN = "<b>x</b> *a* `b` $c$ :smile: [d](e) שלום 动物 🐕"


def opened(tab: str = TABS[0], **link: str) -> AppTest:
    return pages.opened("masking", masking_tab=tab, **link)


def tables(app: AppTest) -> list[pd.DataFrame]:
    return [table.value for table in app.main.dataframe]


def pressed(app: AppTest, label: str):
    (found,) = [pills for pills in app.main.pills if pills.label.startswith(label)]
    return found


@pytest.mark.parametrize(
    ("tab", "versus"), [(TABS[0], "nothing"), *((tab, "storyworld-tiny") for tab in TABS[:4]), (TABS[4], "nothing")]
)
def test_every_view_and_the_cells_it_shows(tab, versus, folders):
    app = opened(tab, folder=folders["pretrained"], text=TEXT, pair=PAIR, mask="2", versus=versus)
    assert fine(app), said(app)
    columns = 1 if versus == "nothing" or tab == "Next sentence" else 2
    views = 2 if tab == "Fill in" else 1
    assert len(cells(app)) == columns * views
    for code in cells(app):
        picture, _ = run(code)
        assert getattr(picture, "data", None) is not None
    assert all(buttons in [button.label for button in app.download_button] for buttons in ("CSV", "PNG", "SVG"))


def test_the_table_of_fills_is_what_the_cell_makes(folders):
    app = opened(folder=folders["pretrained"], text=TEXT, pair=PAIR, mask="2", k="4")
    _, names = run(cells(app)[0])
    table = tables(app)[0]
    assert list(table["token"]) == [token for fill in names["fills"] for token in fill.tokens]
    model, tok = open_both(folders["pretrained"])
    expected = fill_mask(model, tok, TEXT, PAIR, k=4, masked=[2])
    assert list(table["probability"]) == pytest.approx([p for fill in expected for p in fill.probabilities])


def open_both(folder: str):
    return BertForPreTraining.from_pretrained(folder), Tokenizer.from_pretrained(folder)


@pytest.mark.usefixtures("every_point")
def test_why_this_word_adds_up():
    app = opened(model=TINY, text=TEXT, pair=PAIR)
    (fills, why) = tables(app)
    assert fills["token"][0] == "hairy" and "**dog** (+8.9)" in said(app)
    _, names = run(cells(app)[1])
    assert list(why["contribution"]) == pytest.approx(names["found"].values.tolist(), abs=1e-5)
    assert list(why["random weights"]) == pytest.approx(names["control"].values.tolist(), abs=1e-5)


def test_the_gap_that_is_explained_is_in_the_link(folders):
    app = opened(folder=folders["pretrained"], text=TEXT, mask="2", gap="2")
    assert pressed(app, "Which gap").value == 1
    pressed(app, "Which gap").set_value(0).run()
    assert fine(app) and "gap" not in app.query_params
    assert fine(opened(folder=folders["pretrained"], text=TEXT, mask="2", gap="9"))


def test_link_opens_what_it_names(folders):
    link = dict(folder=folders["pretrained"], text="my dog is hairy", pair="he likes walks", mask="2", seed="7")
    app = opened("Pretraining's draw", **link)
    assert fine(app), said(app)
    assert app.text_area(key="text").value == "my dog is hairy"
    assert app.text_area(key="pair").value == "he likes walks"
    assert app.slider(key="seed").value == 7
    assert opened(**link).query_params["mask"] == "2"


@pytest.mark.parametrize("place", ["999", "a,-1,²"])
@pytest.mark.parametrize(
    ("tab", "text"), [(TABS[0], "my dog is hairy"), (TABS[1], "a [MASK] [MASK]"), (TABS[2], "my dog")]
)
def test_links_with_impossible_places_do_no_harm(tab, text, place, folders):
    app = opened(tab, folder=folders["pretrained"], text=text, mask=place, at=place, gap=place)
    assert fine(app), said(app)


def test_pressing_words_masks_them_in_both_views(folders):
    app = opened(folder=folders["pretrained"], text="the the the dog")
    assert "Nothing is masked" in said(app)
    pressed(app, "Press a word").set_value([1, 3]).run()  # equal words are different chips
    assert fine(app), said(app)
    assert app.query_params["mask"] == "1,3"
    assert "Nothing is masked" not in said(app)
    app.selectbox(key="versus").set_value("random weights").run()
    assert pressed(app, "Press a word").value == [1, 3]


def test_a_typed_mask_cannot_be_pressed_away(folders):
    app = opened(folder=folders["pretrained"], text=TEXT)
    assert "a typed [MASK] stays" in pressed(app, "Press a word").label.replace("\\", "")
    (typed,) = pressed(app, "Press a word").value
    pressed(app, "Press a word").set_value([2]).run()
    assert fine(app) and pressed(app, "Press a word").value == [2, typed] and app.query_params["mask"] == "2"


def test_masks_stay_when_the_step_of_the_training_changes():
    app = opened(model=TINY, text="my dog is hairy", mask="2", step="300")
    app.select_slider(key="step").set_value("0").run()
    assert fine(app) and pressed(app, "Press a word").value == [2]


def test_gaps_go_along_to_a_model_with_other_tokens():
    app = opened(model=TINY, text="penguins are flightless birds.", mask="2,4", versus="english-scratch")
    assert fine(app), said(app)
    code = cells(app)[1]  # of the model beside
    assert "'penguin[MASK] are [MASK] birds.'" in code
    assert len(run(code)[1]["fills"]) == 2


def test_a_model_beside_that_must_cut_the_gap_off_says_so():
    text = "penguins " * 50 + "are [MASK]."
    app = opened("Layer by layer", model=TINY, text=text, versus="english-scratch")
    assert not app.exception
    assert [error.value.replace("\\", "")[:40] for error in app.error] == ["English-scratch cuts this text into more"]
    assert "“**" in said(app)  # the first model's view is there all the same


def test_surprisals_of_the_whole_text(folders):
    app = opened("Whole text", folder=folders["pretrained"], text=TEXT, pair=PAIR)
    model, tok = open_both(folders["pretrained"])
    rows = list(sweep(model, tok, TEXT, PAIR))
    table = tables(app)[0]
    assert list(table["surprisal"]) == pytest.approx([row.surprisal for row in rows], abs=1e-5)
    total = pseudo_log_likelihood(rows)
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["Pseudo-log-likelihood"] == f"−{-total:.1f} nats"
    assert shown["Mean surprisal"] == f"{-total / len(rows):.2f} nats"
    assert shown["Pseudo-perplexity"] == f"{math.exp(-total / len(rows)):,.1f}"
    assert "[MASK] stays a gap" in said(app)


def test_the_most_surprising_token_is_shown_first_and_any_other_on_demand(folders):
    app = opened("Whole text", folder=folders["pretrained"], text="the the dog", pair=PAIR)
    chips = pressed(app, "The deeper")
    worst = int(tables(app)[0]["surprisal"].argmax())
    assert chips.value == worst and "at" not in app.query_params
    other = (worst + 1) % len(chips.options)
    chips.set_value(other).run()
    assert fine(app) and app.query_params["at"] == str(other)
    again = opened("Whole text", folder=folders["pretrained"], text="the the dog", pair=PAIR, at=str(other))
    assert pressed(again, "The deeper").value == other


def test_each_token_of_the_draw_has_its_loss(folders):
    app = opened("Pretraining's draw", folder=folders["pretrained"], text="my dog is hairy and likes walks", rate="60")
    table = tables(app)[0]
    assert list(table[" "]) == [percent(math.exp(-loss)) for loss in table["loss"]]
    assert f"**{table['loss'].mean():.2f} nats**" in said(app)


def test_verdicts_on_a_pair():
    app = opened("Next sentence", model=TINY, text=TEXT, pair=PAIR)
    model, tok = open_both("storyworld-tiny")
    shown = tables(app)[0].set_index(["model", "order"])["probability"]
    for name, judge in (("random weights", random_control(model)), ("storyworld-tiny", model)):
        for order, texts in (("as written", (TEXT, PAIR)), ("texts swapped", (PAIR, TEXT))):
            logits = judge(**tok([texts[0]], [texts[1]])).seq_relationship_logits[0].detach()
            assert shown[name, order] == pytest.approx(float(logits.softmax(-1)[0]), abs=1e-5)


def test_without_a_second_text_an_example_is_judged_and_pairs_are_offered():
    app = opened("Next sentence", model=TINY)
    assert fine(app) and "There is no second text" in said(app) and "She likes bones" in said(app)
    assert "storyworld-tiny**: the second text **follows**" in said(app)
    for pair, verdict in (("one story", "follows"), ("two stories", "does not follow")):
        pressed(app, "Try a pair").set_value(pair).run()
        assert fine(app) and app.text_area(key="pair").value
        assert f"storyworld-tiny**: the second text **{verdict}**" in said(app)


def test_a_model_that_never_learned_pairs_leaves_them_to_another(folders, tmp_path):
    tok = Tokenizer.from_pretrained(folders["pretrained"])
    torch.manual_seed(0)
    config = BertConfig.from_pretrained(folders["pretrained"])
    BertForMaskedLM(config).save_pretrained(tmp_path, tok)
    app = opened("Next sentence", folder=str(tmp_path), text=TEXT, pair=PAIR)
    assert fine(app), said(app)
    assert "has no head for this task, so you see **english-next**" in said(app)
    assert set(tables(app)[0]["model"]) == {"english-next", "random weights"}
    app = opened("Next sentence", text=TEXT, pair=PAIR, versus=str(tmp_path))
    assert fine(app) and "without a next-sentence head" in said(app)  # nor does the one beside it judge
    assert set(tables(app)[0]["model"]) == {"english-next", "random weights"}  # english has no such head either
    assert fine(opened(folder=str(tmp_path), text=TEXT, pair=PAIR))


# The first view is tried with more of them beside the other pages.
@pytest.mark.parametrize(
    ("tab", "text"), [*((tab, MARKDOWN) for tab in TABS[1:]), *((tab, "word " * 10_000) for tab in TABS[1:3])]
)
def test_odd_texts_in_every_view(tab, text, folders):
    app = opened(tab, folder=folders["pretrained"], text=text, pair="<i>[MASK]</i>")
    assert fine(app), said(app)
    assert ("left out" in said(app)) == (len(text) > 1000)


def test_a_gap_is_named_by_its_neighbours_with_dots_where_the_text_goes_on():
    tok = Tokenizer.from_pretrained("storyworld-tiny")
    encoded = encode(tok, "one two six ten [MASK] dog cat the .")
    gap = encoded.tokens.index("[MASK]")
    assert context(encoded, gap) == "… two six ten **▢** dog cat the …"
    assert context(encode(tok, "a [MASK]"), 2) == "a **▢** "
    cut = encode(tok, "penguins are not [MASK] penguins are not birds")
    assert context(cut, cut.tokens.index("[MASK]")) == "penguins are not **▢** penguins are …"
