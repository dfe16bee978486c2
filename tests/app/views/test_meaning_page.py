"""The page of embeddings without a browser: its sets, models, neighbours, links, and what a reader may get wrong."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from pages import APP, LONGEST, ODD, TINY, boxes, cells, fine, opened, run, said, tables
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from app.views.meaning.measures import against_controls
from bertlab import BertForSentenceEmbedding, BertModel, Tokenizer
from bertlab.explain.vectors import Neighbours

CSV = "text,label\n" + "".join(f"the dog number {i} sleeps,{'ab'[i % 2]}\n" for i in range(12))


def page(**link: str) -> AppTest:
    return opened("meaning", **link)


def shown(app: AppTest) -> str:
    return " ".join([m.value for m in app.main.markdown] + [s.value for s in app.main.subheader]).replace("\\", "")


def votes(app: AppTest) -> dict[str, str]:
    """How often neighbours name the label, by model."""
    return {metric.label.replace("\\", "").replace("\u2060", ""): metric.value for metric in app.main.metric}


def with_file(folders, name: str, content: bytes) -> AppTest:
    app = page(folder=folders["pretrained"], meaning_set="a file")
    app.file_uploader(key="meaning_file").upload(name, content).run()
    return app


def test_first_screen_says_where_the_labels_come_apart():
    app = page(model=TINY)
    assert fine(app), said(app)
    shares = votes(app)
    assert shares["storyworld-tiny-sentiment"] == "100%" and shares["always guessing one label"] == "55%"
    assert list(shares) == [TINY, f"{TINY}-sentiment", "random weights", "always guessing one label"]
    assert "-sentiment** is 45 points better than always guessing one label: that much was **learned**" in shown(app)


def test_random_weights_that_tell_labels_apart_are_not_hidden(folders):
    app = page(model=TINY, meaning_set="topics")
    assert fine(app), said(app)
    assert any("Random weights separate the labels as well" in caption.value for caption in app.caption)
    assert "nothing shows that this picture was learned" in shown(app)
    assert "Pretraining never asks this vector" in shown(app)


def test_models_that_stand_side_by_side(folders):
    names = lambda app: list(tables(app)[0]["model"].unique())  # noqa: E731
    assert names(page(model=TINY)) == [TINY, f"{TINY}-sentiment", "random weights"]
    assert names(page(model=f"{TINY}-sentiment")) == [f"{TINY}-sentiment", TINY, "random weights"]
    other = page(meaning_set="my own lines", folder=folders["pretrained"])
    assert names(other) == ["pretrained", "random weights"]
    other.selectbox(key="versus").set_value("storyworld-tiny").run()
    assert names(other) == ["pretrained", "storyworld-tiny", "random weights"]


@pytest.mark.parametrize("method", ["PCA", "t-SNE", pytest.param("UMAP", marks=pytest.mark.nightly)])
def test_methods_and_their_warning(folders, method):
    app = page(folder=folders["pretrained"], meaning_set="my own lines", meaning_method=method)
    assert fine(app), said(app)
    assert any("Trust the numbers" in caption.value for caption in app.caption) == (method != "PCA")


def test_a_text_and_its_nearest_are_in_the_link(folders):
    app = page(folder=folders["pretrained"], meaning_set="my own lines", meaning_text="2")
    assert fine(app), said(app)
    assert "> **animals**: penguins are flightless birds." in shown(app)
    field = next(box for box in app.selectbox if box.key.startswith("meaning_text"))
    field.set_value(8).run()
    assert fine(app) and app.query_params["meaning_text"] == "8"
    assert "> **weather**: the snow lies deep." in shown(app)
    field.set_value(None).run()
    assert fine(app) and "meaning_text" not in app.query_params


@pytest.mark.parametrize("number", ["0", "²"])
def test_a_link_to_a_text_that_is_not_there(folders, number):
    app = page(folder=folders["pretrained"], meaning_set="my own lines", meaning_text=number)
    assert fine(app), said(app)
    assert "meaning_text" not in app.query_params


def test_sentences_of_ones_own_are_marked_and_judged(folders):
    app = page(folder=folders["pretrained"], meaning_yours="Nobody slept.\n\n<b>It</b> rained.")
    assert fine(app), said(app)
    assert list(tables(app)[0]["label"]).count("your sentences") == 4  # in each of two models
    assert "> **your sentences**: Nobody slept." in shown(app) and shown(app).count("of the 5 nearest are") == 2


def test_own_lines_with_labels(folders):
    app = page(folder=folders["pretrained"], meaning_set="my own lines", lines="one\ntwo")
    assert "at least three lines" in said(app)
    app.text_area(key="lines").set_value("a\tone\nb | two\nthree\n<b>x</b> | <i>\n" * 200).run()
    assert not app.exception and not app.error
    assert "only the first 500 are shown" in said(app)
    app.text_area(key="lines").set_value("one\ntwo\nthree").run()
    assert fine(app) and "at least two labels" in said(app)


@pytest.mark.parametrize("odd", ["html", "controls", "very long"])
def test_odd_lines(odd, folders):
    lines = f"{ODD[odd]}\ntwo\nthree words here"
    app = page(folder=folders["pretrained"], meaning_set="my own lines", lines=lines)
    assert not app.exception and "view failed" not in said(app)
    assert ("ends were not read" in said(app)) == (odd == "very long")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
def test_files(folders, name, tmp_path, monkeypatch):
    rows = [line.split(",") for line in CSV.splitlines()[1:]]
    contents = {
        "a.csv": CSV,
        "a.jsonl": "\n".join(f'{{"text": "{text}", "label": "{label}"}}' for text, label in rows),
        "a.txt": "\n".join(text for text, _ in rows),
    }
    app = with_file(folders, name, contents[name].encode())
    assert fine(app), said(app)
    assert set(tables(app)[0]["label"]) == ({"no label"} if name == "a.txt" else {"a", "b"})
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(contents[name])
    assert run(cells(app)[0])[0].to_dict()["hconcat"]


def test_a_file_and_the_chosen_text_stay_while_another_page_is_open(folders):
    app = with_file(folders, "mine.csv", CSV.encode())
    pick = next(box.key for box in app.selectbox if box.label.startswith("Click a point"))
    app.selectbox(key=pick).select_index(1).run()
    app.switch_page("views/attention/page.py").run()
    app.switch_page("views/meaning/page.py").run()
    assert fine(app), said(app)
    assert set(tables(app)[0]["label"]) == {"a", "b"}
    assert app.session_state[pick] == 2 and app.query_params["meaning_text"] == "2"


def test_columns_of_other_names_are_chosen(folders):
    app = with_file(folders, "b.csv", CSV.replace("text,label", "a,b").encode())
    assert fine(app), said(app)
    assert set(tables(app)[0]["label"]) == {"no label"}
    app.selectbox(key="meaning_label ['a', 'b'] a").set_value("b").run()
    assert fine(app), said(app)
    assert set(tables(app)[0]["label"]) == {"a", "b"}


WRONG = {
    "no text": (
        "a.csv",
        b"text,label\nx\n",
        "no rows that can be used: left out 1 row; the first: a.csv, line 2: 1 columns",
    ),
    "two rows": ("a.csv", b"text,label\nx,a\ny,b\n", "three rows"),
    "latin": ("a.csv", "text\ncafé\n".encode("latin-1"), "not UTF-8 at byte 8"),
    "deep": ("a.jsonl", b"[" * 200_000 + b"\n", "JSON nested more than 50 levels deep"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_files_that_cannot_be_read_are_named(folders, wrong):
    name, content, words = WRONG[wrong]
    app = with_file(folders, name, content)
    assert not app.exception and "view failed" not in said(app)
    assert words in said(app) and (name in said(app) or wrong == "two rows")
    assert "/tmp" not in boxes(app) and "--encoding" not in boxes(app)


def test_rows_without_text_are_left_out_and_counted(folders):
    app = with_file(folders, "a.csv", (CSV + ",a\n").encode())
    assert fine(app) and "left out 1 row" in said(app), said(app)


def test_a_sentence_encoder_opens_with_its_own_vector(folders, tmp_path):
    model, tok = BertModel.from_pretrained(folders["bare"]), Tokenizer.from_pretrained(folders["bare"])
    encoder = BertForSentenceEmbedding(model.config).eval()
    encoder.save_pretrained(tmp_path / "encoder", tok)
    app = page(folder=str(tmp_path / "encoder"), meaning_set="my own lines")
    assert fine(app), said(app)
    assert app.segmented_control(key="meaning_own_vector").value == "own"
    assert any("OwnPooling(kind='mean', unit=True" in code.value for code in app.main.code)
    for code in cells(app):
        run(code)


def test_it_opens_on_texts_that_the_model_tells_apart_and_random_weights_do_not():
    app = page()
    assert fine(app), said(app)
    shares = {name: int(share.rstrip("%")) for name, share in votes(app).items()}
    assert shares["random weights"] < 30 and shares["english"] - shares["random weights"] > 25, shares
    assert f"{shares['english'] - shares['random weights']} points better than random weights" in said(app)


def test_what_was_learned_beats_both_random_weights_and_the_commonest_label():
    """Random weights may be worse than a guess: to be better than they are then says nothing."""
    votes = {"english": 0.57, "english-sentiment": 0.9, "random weights": 0.32}
    clouds = [SimpleNamespace(layer=0, loaded=SimpleNamespace(name=name)) for name in votes]
    found = [[Neighbours(accuracy, spread=0.1, chance=0.5, folds=5)] for accuracy in votes.values()]
    told = against_controls(clouds, found)
    assert "**english** is not clearly better than always guessing one label" in told
    assert "sentiment** is 40 points better than always guessing one label: that much was **learned**" in told


def test_the_text_of_another_page_is_marked_among_the_others(folders):
    app = AppTest.from_file(str(APP), default_timeout=LONGEST)
    app.session_state.text = "The  soup was\ncold."
    app.session_state.permitted = {folders["pretrained"]}
    app.query_params["folder"] = folders["pretrained"]
    app._page_hash = calc_hash("meaning")
    app.run()
    assert fine(app) and app.text_area(key="meaning_yours").value == "The soup was cold."
    assert "> **your sentences**: The soup was cold." in shown(app)
    for own in ("Nobody slept.", ""):
        app.text_area(key="meaning_yours").set_value(own).run()
        assert fine(app) and app.text_area(key="meaning_yours").value == own
    example = page(folder=folders["pretrained"], text="He closed the [MASK] behind him and sat down by the fire.")
    assert example.text_area(key="meaning_yours").value == ""


def test_an_example_of_another_model_is_no_text_of_the_visitor(folders):
    app = opened("tasks", model=TINY)
    app.switch_page("views/meaning/page.py")
    app.text_input(key="folder").set_value(folders["pretrained"]).run()
    assert fine(app) and app.text_area(key="meaning_yours").value == "", said(app)


def test_the_cls_of_a_left_to_right_model_stands_for_no_text():
    app = opened("meaning", folder="english-left-to-right")
    assert not app.exception and "its [CLS] sees no word" in boxes(app).replace("\\", "")
