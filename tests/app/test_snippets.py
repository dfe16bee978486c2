"""The cells that "show me the cell" offers really run and make what they promise."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "app"))

import snippets

TEXT = 'he said "it\'s" [MASK] \\n.'


def run(code: str):
    """Execute a cell and return the value of its last line, as a notebook shows it."""
    *body, last = code.splitlines()
    names: dict = {}
    exec("\n".join(body), names)
    return eval(last, names)


def test_fill_cell(folders):
    assert run(snippets.fill(folders["pretrained"], TEXT, None, 4)).to_dict()["layer"]


def test_sampler_cell(folders):
    html = run(snippets.sampler(folders["pretrained"], TEXT, "and more", 0.4, 2))
    assert "strip" in html.data


def test_attention_cell(folders):
    widget = run(snippets.attention(folders["pretrained"], TEXT, None, {"layer": 1, "head": 0}))
    assert widget.view["layer"] == 1


@pytest.mark.parametrize(
    "source", [snippets.storyworld_source(60), snippets.own_source(list("abcdefgh"), list("xxxxyyyy"))]
)
def test_projection_cell(folders, source):
    assert run(snippets.projection(folders["pretrained"], source, 1)).to_dict()["mark"]


def test_answer_cell(folders):
    assert run(snippets.answer(folders["reader"], "who?", TEXT)).to_dict()["layer"]


def test_text_label_cell(folders):
    assert run(snippets.text_label(folders["classifier"], TEXT, "and more")).to_dict()["mark"]


def test_word_label_cell(folders):
    assert run(snippets.word_label(folders["tagger"], TEXT, 2)).to_dict()["mark"]
