"""The panel of one gap, on a small random model."""

from bertlab.course import panels


def test_layer_head_and_gap_can_be_chosen(model, tok):
    box = panels.inside_panel(model, tok, "my dog [MASK] hairy and [MASK].", layer=1)
    text, layer, head, gap, result = box.children
    assert "layer 2, head 1" in result.value and result.value.count("<small>layer") == 2
    before = result.value
    head.value = 2
    assert "layer 2, head 2" in result.value != before
    before = result.value
    gap.value = 2
    assert result.value != before
    second = result.value
    gap.value = 5
    assert result.value == second  # there are two
    text.value = "<b> no gap"
    assert "holds no [MASK]" in result.value and "<b> no" not in result.value
    assert "Run this cell" in box._repr_mimebundle_()["text/html"]
