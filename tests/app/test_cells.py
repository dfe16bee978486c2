"""The cells that "show me the cell" offers really run and make what they promise."""

import pytest
import torch
from cells import attention, embeddings, labels, masking, opening, spans

from bertlab import BertModel

TEXT = 'he said "it\'s" [MASK] \\n.'


def run(code: str):
    """Execute a cell and return the value of its last line, as a notebook shows it."""
    *body, last = code.splitlines()
    names: dict = {}
    exec("\n".join(body), names)
    return eval(last, names)


def test_fill_cell(folders):
    assert run(masking.fill(folders["pretrained"], TEXT, None, 4)).to_dict()["layer"]


def test_sampler_cell(folders):
    html = run(masking.sampler(folders["pretrained"], TEXT, "and more", 0.4, 2))
    assert "strip" in html.data


def test_attention_cell(folders):
    widget = run(attention.attention(folders["pretrained"], TEXT, None, {"layer": 1, "head": 0}))
    assert widget.view["layer"] == 1


@pytest.mark.parametrize(
    "source", [embeddings.storyworld_source(60), embeddings.own_source(list("abcdefgh"), list("xxxxyyyy"))]
)
def test_projection_cell(folders, source):
    assert run(embeddings.projection(folders["pretrained"], source, 1)).to_dict()["mark"]


def test_answer_cell(folders):
    assert run(spans.answer(folders["reader"], "who?", TEXT)).to_dict()["layer"]


def test_text_label_cell(folders):
    assert run(labels.text_label(folders["classifier"], TEXT, "and more")).to_dict()["mark"]


def test_word_label_cell(folders):
    assert run(labels.word_label(folders["tagger"], TEXT, 2)).to_dict()["mark"]


def test_a_cell_can_open_the_control(folders):
    names: dict = {}
    exec(opening.opened("BertModel", folders["pretrained"], random=True), names)
    trained = BertModel.from_pretrained(folders["pretrained"])
    assert not torch.equal(names["model"].embeddings.word.weight, trained.embeddings.word.weight)
