"""The panel of later changes: one at a time, beside BERT."""

from bertlab.course import panels
from bertlab.course.panels.later import FULL

FIGURES = {"BERT": {"parameters": 800.0, "loss": 4.0}, "shared <i>": {"parameters": 200.0}, "gated": {"loss": 3.0}}


def test_one_change_at_a_time_beside_bert():
    box = panels.change_panel(FIGURES, {"shared <i>": ["layers"], "gated": ["feed-forward"]}, first="gated")
    menu, result = box.children
    assert menu.options == ("shared <i>", "gated")
    assert result.value.count("font-weight:bold") == 1 and 'font-weight:bold">feed-forward' in result.value
    assert "not measured" in result.value and "800 (BERT)" in result.value
    menu.value = "shared <i>"
    assert 'font-weight:bold">layers' in result.value
    assert f"width:{FULL}px" in result.value and f"width:{FULL // 4}px" in result.value  # 800 and 200
    assert "Run this cell" in box._repr_mimebundle_()["text/html"]
