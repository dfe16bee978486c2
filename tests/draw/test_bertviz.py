"""The bertviz view needs no network, and a token cannot break out of its script."""

import re

import pytest
import torch

from bertlab.draw.bertviz import LONGEST, head_view
from bertlab.errors import InputError
from bertlab.explain.attention import AttentionMaps


def maps(tokens):
    size = len(tokens)
    return AttentionMaps(tokens, [0] * size, torch.full((2, 3, size, size), 1 / 3))


def test_nothing_is_fetched():
    html = head_view(maps(["a", "b"]))
    assert not re.search(r"<script[^>]*src|<link [^>]*href|@import", html)
    assert html.count("</script>") == 1
    assert '"attn": [[[[0.333, 0.333]' in html


def test_tokens_stay_data():
    html = head_view(maps(["</script><script>alert(1)</script>", "b"]))
    assert html.count("</script>") == 1 and "alert(1)" in html


def test_long_texts_are_refused():
    with pytest.raises(InputError, match="too many for this view"):
        head_view(maps(["a"] * (LONGEST + 1)))


@pytest.mark.browser
def test_heads_are_drawn_offline(tab):
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.set_content(head_view(maps(["left", "<b>", "right"]), layer=1, heads=[0]))
    tab.wait_for_selector("#vis svg line", state="attached")
    assert tab.broken == [] and asked == []
    assert tab.locator("#vis svg text").filter(has_text="right").count() >= 2
    assert tab.locator("#layer").input_value() == "1"
