"""The bertviz views need no network, and a token cannot break out of their script."""

import re

import pytest
import torch

from bertlab.draw.html.bertviz import LONGEST, LONGEST_NEURONS, head_view, model_view, most_tokens, neuron_view
from bertlab.errors import InputError
from bertlab.explain.attention.maps import AttentionMaps, Neurons

EVIL = "</script><script>alert(1)</script>"


def maps(tokens):
    size = len(tokens)
    return AttentionMaps(tokens, [0] * size, torch.full((2, 3, size, size), 1 / 3))


def neurons(tokens):
    vectors = torch.ones(2, 3, len(tokens), 4) / 7
    return Neurons(maps(tokens), vectors, -vectors)


VIEWS = {
    "head": lambda tokens, **options: head_view(maps(tokens), **options),
    "model": lambda tokens, **options: model_view(maps(tokens), **options),
    "neuron": lambda tokens, **options: neuron_view(neurons(tokens), **options),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_nothing_is_fetched_and_tokens_stay_data(view):
    html = view([EVIL, "b"])
    assert not re.search(r"<script[^>]*src|<link [^>]*href|@import", html)
    assert html.count("</script>") == 1 and "alert(1)" in html
    assert '"attn": [[[[0.333, 0.333]' in html


def test_neurons_carry_queries_and_keys():
    html = neuron_view(neurons(["a", "b"]))
    assert '"queries": [[[[0.143, ' in html and '"keys": [[[[-0.143, ' in html


@pytest.mark.parametrize(
    ("view", "most"), [("head", LONGEST), ("model", most_tokens(2, 3)), ("neuron", LONGEST_NEURONS)]
)
def test_long_texts_are_refused(view, most):
    with pytest.raises(InputError, match=f"too many for this view: give at most {most}"):
        VIEWS[view](["a"] * (most + 1))


def test_bert_base_has_room_for_a_sentence():
    assert most_tokens(12, 12) == 22 and most_tokens(4, 4) == 66


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_are_drawn_offline(tab, view, dark):
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.set_content(view(["left", "<b>", "right"], name="mine", dark=dark))
    tab.wait_for_selector("#mine #vis svg line", state="attached")
    assert tab.broken == [] and asked == []


@pytest.mark.browser
def test_a_head_in_bertviz(tab):
    tab.set_content(head_view(maps(["left", "<b>", "right"]), layer=1, heads=[0]))
    assert tab.locator("#vis svg text").filter(has_text="right").count() >= 2
    assert tab.locator("#layer option").all_inner_texts() == ["1", "2"], "counted from 1, as everywhere else"
    assert tab.locator("#layer option:checked").inner_text() == "2"


@pytest.mark.browser
def test_a_thumbnail_of_the_model_opens(tab):
    tab.set_content(model_view(maps(["left", "<b>", "right"])))
    tab.locator("#vis svg g rect").last.click(force=True)
    assert tab.locator("#vis .detail").filter(has_text="Layer 2, Head 3").count() == 1


@pytest.mark.browser
def test_a_token_meets_every_key(tab):
    tab.set_content(neuron_view(neurons(["left", "<b>", "right"]), layer=1, head=2))
    chosen = [tab.locator(f"{field} option:checked").inner_text() for field in ("#layer", "#att_head")]
    assert chosen == ["2", "3"]
    tab.locator("#collapsed #leftText .token", has_text="right").hover()
    tab.locator("#collapsed #leftText .plus-sign").nth(2).locator("xpath=following-sibling::*[1]").click(force=True)
    assert tab.locator("#expanded").get_attribute("visibility") == "visible"
    values = tab.locator("#dotproducts rect").evaluate_all("rects => rects.map(rect => +rect.dataset.value)")
    assert values == pytest.approx([-4 * 0.143**2 / 2] * 3, abs=1e-6)
