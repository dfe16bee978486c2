import re
from html import unescape
from itertools import pairwise

import numpy as np
import pytest
import torch

from bertlab.draw import palette
from bertlab.draw.charts.attention import attention_heatmap
from bertlab.draw.charts.attribution import attribution_bars
from bertlab.draw.charts.base import png, svg
from bertlab.draw.charts.dataset import confusion_chart, confusion_table
from bertlab.draw.charts.masking import fill_bars, surprisal_bars
from bertlab.draw.html.marked import attributed_text, attribution_strip, marked_names, marked_passage, token_strip
from bertlab.explain.attribution import Attribution
from bertlab.explain.labels import Name
from bertlab.explain.words.fill import Fill
from bertlab.explain.words.surprisal import Surprisal
from tests.unstyled import unstyled


def found() -> Attribution:
    return Attribution(["[CLS]", "a", "'</script>"], torch.tensor([0.0, 2.0, -0.5]), 1.0, -0.5)


def test_bars_tell_for_from_against_and_the_control():
    shown = attribution_bars(found(), found()).data
    assert list(shown["what"]) == ["for it", "for it", "against it", *["random weights"] * 3]
    assert list(shown["value"]) == [0, 2, -0.5] * 2


def label_rows(chart) -> list[float]:
    """How far down the labels token0, token1 ... stand that are to be seen, in pixels."""
    label = re.compile(r'<text[^>]*translate\([-\d.]+,([\d.]+)\)[^>]*opacity="1"[^>]*>token')
    return [float(y) for y in label.findall(svg(chart).decode())]


TOKENS = [f"token{number}" for number in range(128)]
MANY = Attribution(TOKENS, torch.linspace(-1, 1, 128), 1.0, 0.0)
SURPRISED = [Surprisal(i, token, 1.0, 1, Fill(i, ["a"], [0.5], 0.9)) for i, token in enumerate(TOKENS)]


@pytest.mark.parametrize("chart", [attribution_bars(MANY, MANY), surprisal_bars(SURPRISED, 100)])
def test_every_one_of_many_tokens_has_its_label(chart):
    rows = label_rows(chart)
    assert len(rows) == 128 and min(b - a for a, b in pairwise(rows)) > 14  # pixels: they are 12 high


WORDS_OF_VEGA = ["if", "constructor", "datum", 'a"b\\']


def test_words_that_mean_something_to_vega_are_drawn_as_they_are():
    one = Attribution(WORDS_OF_VEGA, torch.ones(4), 4.0, 0.0)
    counts = confusion_table(WORDS_OF_VEGA, np.ones((4, 4)))
    for drawn in (svg(attribution_bars(one, one)), svg(confusion_chart(counts))):
        assert set(WORDS_OF_VEGA) <= set(re.findall(r">([^<]+)</text>", unescape(drawn.decode())))


def test_the_true_token_has_a_colour_of_its_own():
    drawn = svg(fill_bars(Fill(1, ["a", "b"], [0.7, 0.2], 0.8), "b")).decode()
    assert palette.GREEN in drawn and palette.ORANGE not in drawn  # orange speaks against a word


def test_every_chart_becomes_a_png():
    fill = Fill(1, ["a", "b"], [0.7, 0.2], 0.8)
    drawn = [
        fill_bars(fill, "b"),
        attention_heatmap(["a", "a"], torch.eye(2)),
        attribution_bars(found(), found()),
    ]
    for chart in drawn:
        assert png(chart, scale=1).startswith(b"\x89PNG")


def test_marks_are_escaped_and_placed():
    html = unstyled(marked_passage("a <script> & b", 2, 10))
    assert 'role="mark">&lt;script&gt;</span>' in html
    assert "<script>" not in html
    assert '"mark"' not in marked_passage("a", 0, 0)
    strip = token_strip(["[CLS]", "<i>"], [0, 2], ["[CLS]", "<b>"], [True, False])
    assert "&lt;i&gt;" in strip and "was &lt;b&gt;, random" in strip
    assert "<i>" not in strip and "<b>" not in strip


def test_strips_run_in_the_direction_of_their_script():
    for words, direction in (
        (["my", "dog"], "ltr"),
        (["كلب", "##ي"], "rtl"),
        (["我", "的"], "ltr"),
        (["कु", "त्ता"], "ltr"),
    ):
        tokens = ["[CLS]", *words, "[SEP]"]
        assert f'dir="{direction}"' in attribution_strip(tokens, [0.5] * 4)
        assert f'dir="{direction}"' in token_strip(tokens, [0] * 4, tokens, [True, False, False, True])


def test_a_text_with_its_attributions():
    html = attributed_text("<b> c, d!", [(0, 3), (4, 5), (7, 8)], [1.0, -0.5, 0.0])
    assert "<b>" not in html and "dir=" in html
    assert '<span title="+1.00">&lt;b&gt;</span> <span title="−0.50">' in unstyled(html)
    assert "#E69F0050" in html and html.endswith("d</span>!</div>") and "</span>, <span" in html
    assert attributed_text("a", [], []).endswith(">a</div>")


def test_strip_of_attributions():
    html = attribution_strip(["[CLS]", "<b>", "c", "d"], [0.0, 12.34, -6.17, 0.001])
    assert "&lt;b&gt;" in html and "<b>" not in html
    notes = re.findall(r"<small><bdi>(.*?)</bdi>", unstyled(html))
    assert notes == ["0", "+12.3", "−6.2", "0"]
    assert "#0072B2a0" in html and "#E69F0050" in html  # blue in full, orange half as strong
    assert "+0" not in attribution_strip(["a"], [0.0])


def test_marked_names_are_escaped_and_placed():
    html = marked_names("<i> Rex of <b>", [Name(0, 3, "pet"), Name(11, 14, "a<b")], ["a<b", "pet"])
    assert "&lt;i&gt;&nbsp;<small>pet</small></span> Rex of <span" in unstyled(html) and html.endswith("</span></div>")
    assert "<i>" not in html and "<b>" not in html
    assert html.index('3px solid #E69F00"') < html.index('3px solid #0072B2"')  # by place among the kinds
    assert "dashed" not in html


def test_doubted_words_have_a_dashed_line_inside_and_outside_names():
    html = marked_names(
        "Rex Roy met <b> and Ann", [Name(0, 7, "pet"), Name(20, 23, "pet")], ["pet"], [(4, 7), (12, 15)]
    )
    marks = html.split('<span class="mark"')[1:]
    assert ["dashed" in mark for mark in marks] == [True, True, False] and "#7F7F7F" in marks[1]
    plain = unstyled(html)
    assert "Rex Roy&nbsp;<small>pet?</small>" in plain and "Ann&nbsp;<small>pet</small>" in plain
    assert "&lt;b&gt;&nbsp;<small>?</small>" in plain
