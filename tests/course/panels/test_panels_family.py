"""The panel of several readers of one sentence."""

from bertlab.course.panels import Reading, readers_panel
from bertlab.explain.words.fill import Fill


def reader(first: str, sees_right: bool):
    def read(text: str) -> Reading:
        tokens = text.split()
        gap = tokens.index("[MASK]")
        seen = [position < gap or (sees_right and position > gap) for position in range(len(tokens))]
        return Reading(tokens, seen, Fill(gap, [first, "<i>"], [0.75, 0.25], 0.56))

    return read


def test_a_card_for_each_reader_shows_what_it_sees_and_writes():
    box = readers_panel({"GPT": reader("dog", False), "BERT": reader("cat", True)}, "the [MASK] <b> sat")
    text, result = box.children
    gpt, bert = result.value.split("<b>BERT</b>")
    assert gpt.count("opacity:.4") == 2 and bert.count("opacity:.4") == 0
    assert "dog" in gpt and "75%" in gpt and "cat" in bert and "entropy 0.56 nats" in bert
    assert "&lt;b&gt;" in gpt and "&lt;i&gt;" in gpt and "<i>" not in gpt
    assert "Run this cell" in box._repr_mimebundle_()["text/html"]
    for wrong in ("the cat sat", "[MASK] and [MASK]"):
        text.value = wrong
        assert "write [MASK] in place of one word, once" in result.value
    text.value = "[MASK] sat"
    assert "dog" in result.value
