"""The cells that "show me the cell" offers really run and make what they promise."""

import shutil
from pathlib import Path

import pages
import pytest
import torch

from app.shared.page import exports
from app.views.attention import cells as attention
from app.views.meaning import cells as embeddings
from app.views.tasks import cells as labels
from app.views.training import cells as training
from bertlab import BertModel

TEXT = 'he said "it\'s" [MASK] \\n.'


def run(code: str) -> object:
    """What a notebook shows below this cell."""
    return pages.run(code)[0]


def test_attention_cell(folders):
    widget = run(attention.attention(folders["pretrained"], TEXT, None, 96, {"layer": 1, "head": 0}))
    assert widget.view["layer"] == 1


@pytest.mark.parametrize("random", [False, True])
def test_attention_cell_with_a_second_model(folders, random):
    beside = (folders["bare"], random)
    widget = run(attention.attention(folders["pretrained"], TEXT, "more", 96, {"role": "broad"}, beside))
    name = b"random weights" if random else folders["bare"].encode()
    assert name in bytes(widget.data)


def test_roles_cell(folders):
    assert len(run(attention.roles(folders["pretrained"], TEXT, None, 96)).to_dict()["vconcat"]) == 2


def chart_texts(chart: dict) -> list[str]:
    return [row["text"] for row in next(iter(chart["datasets"].values()))]


TEXTS = {
    "bundled": embeddings.bundled_texts("sentiment", 40),
    "reviews": embeddings.reviews("film_reviews"),
    "subjects": embeddings.reviews("reviews_by_subject"),
    "own": embeddings.own_texts(list("abcdefgh"), list("xxxxyyyy")),
    "file": embeddings.file_texts("it's.csv", "t", "kind", 500, "no label"),
    "file without labels": embeddings.file_texts("it's.csv", "t", None, 500, "no label"),
}


@pytest.mark.parametrize("source", TEXTS)
def test_embeddings_cells(folders, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("it's.csv").write_text("t,kind\n" + "one,a\ntwo,b\nthree,b\n,b\nfour,a\n" * 4)
    code = embeddings.with_yours(TEXTS[source], [TEXT], "yours")
    asked = [(folders["pretrained"], "mine"), (folders["pretrained"], "random weights")], code, "mean", 20, 7
    chart = run(embeddings.projection(*asked, "tsne")).to_dict()
    assert [panel["title"]["subtitle"] for panel in chart["hconcat"]] == ["layer 2"] * 2  # it has no more
    assert TEXT in chart_texts(chart)
    for near in run(embeddings.neighbours(*asked, 0, 30, 1)).values():  # of all, but not the reader's own
        assert len(near) == min(30, len(chart_texts(chart)) - 2) and TEXT not in [text for *_, text in near]
    lines = run(embeddings.measures(asked[0], TEXTS[source], *asked[2:])).to_dict()
    assert len(lines["hconcat"]) == (1 if source == "file without labels" else 3)


def test_text_label_cell(folders):
    assert run(labels.text_label(folders["classifier"], TEXT, "and more", 96)).to_dict()["mark"]


def test_word_label_cell(folders):
    assert run(labels.word_label(folders["tagger"], TEXT, 2, 96)).to_dict()["mark"]


@pytest.mark.parametrize(
    ("cell", "arguments", "part"),
    [
        (training.curves, (True,), "hconcat"),
        (training.words, (12, TEXT, None, 0), "layer"),
        (training.head, (12, TEXT, "and more", 9, 1, 0), "concat"),
        (training.cloud, (12, 24, "mean"), "concat"),
    ],
)
def test_training_cells(run_folder, cell, arguments, part):
    assert run(cell(str(run_folder), *arguments)).to_dict()[part]


def test_cell_of_answers_by_step(folders, tmp_path):
    shutil.copytree(folders["reader"], tmp_path / "run")
    (tmp_path / "run" / "recipe.json").write_text("{}")
    cell = training.answers(str(tmp_path / "run"), 12, "who came?", "Ruth came, and " + "she said so. " * 50)
    assert run(cell).to_dict()["layer"]


def test_a_cell_can_open_the_control(folders):
    names: dict = {}
    exec(exports.model_lines("BertModel", folders["pretrained"], random=True), names)
    trained = BertModel.from_pretrained(folders["pretrained"])
    assert not torch.equal(names["model"].embeddings.word.weight, trained.embeddings.word.weight)
