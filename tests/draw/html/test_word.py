import json

import torch

from bertlab.draw.html.word import MOST_ROWS, pack, word_widget
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.follow import FollowedWord
from bertlab.explain.words.lens import Lens


def followed(size: int) -> FollowedWord:
    """A word at position 2 of `size` tokens, in 2 layers of 3 heads that attend the more to a token the later it is."""
    tokens = ["[CLS]", "<b>", "[MASK]", *(f"w{n}" for n in range(size - 4)), "[SEP]"]
    weights = torch.arange(1.0, size + 1).expand(2, 3, size) / sum(range(1, size + 1))
    fills = [Fill(2, ["שלום", "a"], [p, 0.005], 0.5) for p in (0.25, 0.5, 0.995)]
    lens = Lens(2, fills, "שלום", [0.25, 0.5, 0.995], [1, 1, 1])
    return FollowedWord(tokens, list(range(size)), 2, torch.ones(3, size), weights, torch.ones(3, 100),
        torch.tensor([[0.5, 2.0], [0.25, 1.0]]), lens, [7.0, 2.0], 1234)  # fmt: skip


def test_the_picture_gets_the_numbers_and_their_sentences():
    data = json.loads(pack(followed(6), "m", control=followed(6), truth="<i>", links=[("attention?a=b", "Heads")]))
    assert data["stations"] == ["Pieces", "Embeddings", "Layer 1", "Layer 2", "Logits", "Guess"]
    assert data["tokens"][1] == "<b>" and data["followed"] == 2 and data["folded"] == "" and not data["choose"]
    assert data["links"] == [["attention?a=b", "Heads"]]
    first, control = data["sets"]
    assert first == control and first["attention"][1][2] == [round(n / 21, 3) for n in range(1, 7)]
    assert first["lens"][1] == ["שלום", "50%"] and first["guesses"] == [
        ["שלום", "7.0", 0.995, "> 99%"],
        ["a", "2.0", 0.005, "0.5%"],
    ]
    said = first["said"]
    assert len(said) == len(data["stations"])
    assert "“<i>”" in said[0] and "100 numbers" in said[1] and "1,234 tokens" in said[4]
    assert "“[SEP]” (0.29) and “w1” (0.24)" in said[2] and "0.5 times" in said[2] and "2.0 times" in said[2]


def test_of_a_long_text_the_tokens_with_most_attention_are_drawn():
    data = json.loads(pack(followed(100)))
    assert data["positions"] == [2, *range(100 - MOST_ROWS + 1, 100)] and data["tokens"][data["followed"]] == "[MASK]"
    assert f"the {MOST_ROWS} of 100 tokens" in data["folded"]
    assert all(len(head) == MOST_ROWS for layer in data["sets"][0]["attention"] for head in layer)


def test_widget_carries_the_module_and_the_data():
    widget = word_widget(followed(6), "m")
    assert widget.data == pack(followed(6), "m")
    assert "export default" in str(widget._esm) and "prefers-reduced-motion" in str(widget._esm)
