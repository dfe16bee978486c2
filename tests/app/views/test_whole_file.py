"""A whole file of each format through a model, everything that may be wrong with it, and rows that open."""

import json
import tempfile
from urllib.parse import parse_qsl

import pytest
from pages import TINY, boxes, cells, fine, opened, run, said

from app.views.tasks.file import source
from app.views.tasks.file.kinds import WORDS
from app.views.tasks.file.label_names import guess
from bertlab.corpora.examples import TokenExample
from bertlab.corpora.labelled.conll import read_conll
from bertlab.tasks.registry import open_task
from bertlab.tasks.token import TokenPrediction

OPINIONS = 'text,label\n"The soup was salty, as ever.",bad\nThe soup was not salty.,good\nThe cake was delicious.,bad\n'
CONLL = "Ruth B-person\nHill I-person\nsleeps O\n\nRex B-pet\nate O\nbread O\n"
SQUAD = {
    "data": [
        {
            "paragraphs": [
                {
                    "context": "Rex ate bread near the garden.",
                    "qas": [
                        {"id": 1, "question": "What did Rex eat?", "answers": [{"text": "bread", "answer_start": 8}]},
                        {"id": 2, "question": "Who owned the kite?", "answers": []},
                    ],
                }
            ]
        }
    ]
}


def with_file(name: str, content: str | bytes, **link):
    app = opened("tasks", tasks_tab="A whole file", model=TINY, dataset_set="a file", **link)
    app.file_uploader(key="dataset_file").upload(name, content if isinstance(content, bytes) else content.encode())
    return app.run()


def table(app):
    return next(one.value for one in app.main.dataframe if "predicted" in one.value)


def metrics(app) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


@pytest.mark.parametrize(
    ("which", "tab"),
    [
        ("opinions", "Rows"),
        ("names", "Rows"),
        ("questions", "Rows"),
        ("questions", "Slices"),
        ("names", "Confusion"),
        ("names", "Slices"),
    ],
)
def test_bundled_data_work_at_once_and_their_cells_run(which, tab):
    app = opened("tasks", tasks_tab="A whole file", model=TINY, dataset_set=which, dataset_tab=tab)
    assert fine(app), said(app)
    assert metrics(app)["Rows"] == "300" and cells(app)
    if which == "questions" or tab != "Rows":
        made, names = run(cells(app)[-1].replace("300", "40"))
        assert made if tab == "Rows" else made.to_dict()
        assert len(names["predictions"]) == len(names["examples"])


def test_real_english_has_film_reviews():
    app = opened("tasks", tasks_tab="A whole file", model="english-scratch")
    assert fine(app) and not app.warning, said(app)  # the model gives the labels that the sentences have
    assert metrics(app)["Rows"] == "40" and "Model: **english-sentiment**" in said(app)
    assert "F1 of “positive”" in metrics(app)
    assert "has no head" in boxes(app)
    _, names = run(cells(app)[-1])
    assert [one.label for one in names["predictions"]] == list(table(app)["predicted"])


def test_a_table_is_read_from_memory_predicted_measured_and_filtered(monkeypatch):
    monkeypatch.setattr(tempfile, "mkdtemp", None)  # nothing is written to disk
    app = with_file("reviews.csv", OPINIONS)
    assert fine(app), said(app)
    assert list(table(app)["predicted"]) == ["bad", "good", "good"]
    assert metrics(app)["Accuracy"] == "0.667" and "always “bad” would be right in 67% of 3" in said(app)
    app.segmented_control(key="dataset_errors").set_value("errors").run()
    assert fine(app) and list(table(app)["text"]) == ["The cake was delicious."]
    assert "1 of 3 rows (accuracy of the 3 measured: 67%)" in said(app)
    app.segmented_control(key="dataset_errors").set_value("all rows").run()
    app.text_input(key="dataset_word").set_value("not").run()
    assert fine(app) and list(table(app)["label"]) == ["good"]


def test_beside_a_file_stands_what_the_model_learned_from():
    learned = "learned from opinions in stories of one small town"
    assert learned in said(with_file("reviews.csv", OPINIONS))
    assert learned not in said(opened("tasks", tasks_tab="A whole file", model=TINY))


def test_a_row_that_is_chosen_changes_no_other_page_and_the_file_is_still_there_afterwards():
    app = with_file("reviews.csv", OPINIONS, dataset_row="2")
    assert fine(app) and "**text**: The soup was not salty." in said(app)
    assert "text" not in app.session_state  # a page gets the row only when the visitor goes there
    app.switch_page("views/attention/page.py").run()
    assert fine(app) and app.text_area(key="text").value != "The soup was not salty."
    app.switch_page("views/tasks/page.py").run()
    app.session_state.tasks_tab = "A whole file"
    assert fine(app.run()) and len(table(app)) == 3


def test_columns_and_label_names_stay_while_a_row_is_open():
    app = with_file("a.csv", "a,b,c\nThe soup was salty.,bad,0\nIt was not salty.,good,1\n", dataset_row="1")
    names = ["a", "b", "c"]
    app.selectbox(key=f"dataset_label {names} a").set_value("c").run()
    next(box for box in app.main.selectbox if box.label.startswith("“0”")).set_value("good").run()
    assert fine(app) and list(table(app)["label"]) == ["good", "good"], said(app)
    next(button for button in app.main.button if button.label == "Opinion").click().run()
    app.session_state.tasks_tab = "A whole file"
    assert fine(app.run()) and list(table(app)["label"]) == ["good", "good"]


def test_a_row_of_words_opens_where_words_are_labelled_and_its_link_has_it_in_a_new_tab_too():
    link = dict(tasks_tab="A whole file", model=TINY, dataset_set="names", dataset_row="3")
    app = opened("tasks", **link)
    text = table(app)["text"].iloc[2]
    (to,) = (each.proto for each in app.main.get("page_link") if each.proto.label == "Attention")
    other = opened(to.page, **dict(parse_qsl(to.query_string)))
    assert fine(other) and other.text_area(key="text").value == text and "from" not in other.query_params
    assert f"Model: **{TINY}**" in said(other)
    next(button for button in app.main.button if button.label == "Names").click().run()
    assert fine(app), said(app)
    assert app.session_state.tasks_tab == "Names" and app.text_area(key="text").value == text


@pytest.mark.parametrize("coding", ["utf-8", "utf-16"])
def test_words_with_labels_and_questions_are_known_by_their_form(coding, tmp_path):
    app = with_file("names.txt", CONLL.encode(coding))
    assert fine(app), said(app)
    model, task = open_task("storyworld-tiny-entities")
    (tmp_path / "names.txt").write_text(CONLL)
    examples = list(read_conll(tmp_path / "names.txt"))
    expected = task.measures(examples, list(task.predict(model, examples)))
    assert metrics(app)["F1"] == f"{expected['f1']:.3f}"
    assert list(table(app)["label"]) == ["Ruth Hill (person)", "Rex (pet)"]
    app = with_file("squad.json", json.dumps(SQUAD).encode(coding))
    assert fine(app), said(app)
    assert list(table(app)["label"]) == ["bread", "no answer"] and "Exact match" in metrics(app)


@pytest.mark.parametrize(
    ("labels", "score"), [("I-x I-x O I-x", 1), ("B-x E-x O S-x", 1), ("B-x O O B-x", 0), ("B-x B-x O B-x", 0)]
)
def test_a_sentence_is_right_if_its_names_are_however_labels_spell_them(labels, score):
    words = ("Ruth", "Hill", "met", "Mark")
    said = TokenPrediction(words, tuple(labels.split()), None)
    assert WORDS.score(TokenExample("1", words, ("B-x", "I-x", "O", "B-x")), said) == score


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,label\nsch\xf6n,good\n".encode("latin-1"), "not UTF-8 at byte 14"),
        ("a.csv", b"", "there are no rows"),
        ("a.json", b'{"paragraphs": 1', "no SQuAD file"),
        ("a.json", b'{"data": [{"paragraphs": 7}]}', 'article 1: "paragraphs" is missing'),
        ("a.conll", b"one\ntwo O\n", "a.conll, line 2: 2 columns"),
    ],
)
def test_what_cannot_be_read_is_said_without_flags_or_paths(name, content, message):
    app = with_file(name, content)
    assert not app.exception and "This view failed" not in boxes(app)
    assert message in boxes(app) and "--" not in boxes(app) and "/" not in boxes(app)


def test_labels_that_the_model_does_not_know_are_not_measured():
    app = with_file("a.csv", "text,label\nThe soup was salty.,*neg*\nThe soup was not salty.,good\n")
    assert fine(app), said(app)
    assert "1 of 2 rows are not measured" in boxes(app) and "“*neg*”. It knows bad, good." in boxes(app)
    assert "2 of 2 rows (accuracy of the 1 measured: 100%)" in said(app)
    assert metrics(app)["Accuracy"] == "1.000"
    none = with_file("a.csv", "text\n<b>The soup</b> was salty.\n$a$ *b*\n")
    assert fine(none) and "nothing is measured" in boxes(none) and list(metrics(none)) == ["Rows"]
    for tab in ("Slices", "Confusion"):
        other = with_file("a.csv", "text\nThe soup was salty.\n", dataset_tab=tab)
        assert not other.exception and "labels" in boxes(other)


@pytest.mark.parametrize("tab", ["Rows", "Slices", "Confusion"])
def test_cells_take_the_rows_that_the_page_measures(tab, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MOST_ROWS", 24)
    rows = [f"The soup was {'' if n % 2 else 'not '}salty.,{'bad' if n % 3 else 'good'}" for n in range(30)]
    content = "\n".join(["text,label", "It was salty.,*neg*", *rows, ""])
    app = with_file("a.csv", content, dataset_tab=tab)
    assert fine(app) and "1 of 24 rows are not measured" in boxes(app) and "first 24 rows are read" in boxes(app)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(content)
    made, names = run(cells(app)[-1])
    assert len(names["examples"]) == 23
    if tab == "Rows":
        assert f"{made['accuracy']:.3f}" == metrics(app)["Accuracy"]


def test_other_names_for_the_labels_are_guessed_and_can_be_changed():
    app = with_file("a.csv", OPINIONS.replace("bad", "0").replace("good", "1"))
    assert fine(app) and metrics(app)["Accuracy"] == "0.667" and list(table(app)["label"]) == ["bad", "good", "bad"]
    assert "names = {'0': 'bad', '1': 'good'}" in cells(app)[-1]
    zero = next(box for box in app.main.selectbox if box.label.startswith("“0”"))
    zero.set_value("good").run()
    assert fine(app) and list(table(app)["label"]) == ["good"] * 3
    zero.set_value("none").run()
    assert metrics(app)["Accuracy"] == "1.000" and "2 of 3 rows are not measured" in boxes(app)


@pytest.mark.parametrize(
    ("theirs", "known", "meant"),
    [
        (["Neg", "pos"], ["bad", "good"], {"Neg": "bad", "pos": "good"}),
        (["-1", "1"], ["NEGATIVE", "POSITIVE"], {"-1": "NEGATIVE", "1": "POSITIVE"}),
        (["1", "2", "3", "4", "5"], ["bad", "good"], {}),  # one star is not good
        (["bad", "good"], ["0", "1", "2"], {}),
        (["BAD", "sports"], ["bad", "good"], {"BAD": "bad"}),
        (["good"], ["yes", "positive"], {}),  # it could be either
        (["PER", "GPE", "LOC", "MISC"], ["person", "pet", "place"], {"PER": "person", "GPE": "place", "LOC": "place"}),
    ],
)
def test_what_labels_mean_is_guessed_only_where_it_is_clear(theirs, known, meant):
    assert guess(theirs, known) == meant


NAMES = "Ruth B-PER\nHill I-PER\nin O\nAshford S-LOC\n. O\n\nAcme B-ORG\nbought O\nbread O\n. O\n"


def test_well_known_names_of_kinds_meet_and_the_others_are_named(tmp_path, monkeypatch):
    app = with_file("names.conll", NAMES)
    assert fine(app), said(app)
    assert "LOC as **place**, PER as **person**" in said(app).replace("\\", "")
    assert "It has no label for **ORG**" in said(app) and "not measured" not in boxes(app)
    assert list(table(app)["label"]) == ["Ruth Hill (person), Ashford (place)", "none"]
    assert 0 < float(metrics(app)["F1"]) <= 1
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.conll").write_text(NAMES)
    _, made = run(cells(app)[-1] + "\nNone")
    assert f"{made['task'].measures(made['examples'], made['predictions'])['f1']:.3f}" == metrics(app)["F1"]
    org = next(box for box in app.main.selectbox if box.label.startswith("“ORG”"))
    org.set_value("person").run()
    assert fine(app) and list(table(app)["label"])[1] == "Acme (person)" and "no label for" not in said(app)


@pytest.mark.parametrize("content", ["the DET\ndog NOUN\n\n", "a B-geo\nb O\n\n"])
def test_labels_that_no_kind_of_the_model_meets_are_not_measured(content):
    app = with_file("names.conll", content)
    assert not app.exception and "This view failed" not in boxes(app)
    assert "1 of 1 rows are not measured" in boxes(app)


def test_a_model_that_gives_a_number_and_one_of_ones_own(folders):
    app = with_file("a.csv", "text,score\nthe dog,1.5\nthe cat,2.5\nthe bird,4\n", folder=folders["number"])
    assert fine(app), said(app)
    assert "Spearman" in " ".join(metrics(app)) and "dataset_errors" not in app.session_state
    app = with_file(
        "a.csv", OPINIONS.replace("good", "*good*").replace("bad", "<b>bad</b>"), folder=folders["classifier"]
    )
    assert fine(app), said(app)
    assert metrics(app)["Rows"] == "3" and "Accuracy" in metrics(app)
