"""The panel of classifiers shows every model's verdict on the text."""

import re

from bertlab.course import panels


def shares(html):
    return re.findall(r"(\d+\.\d)%", html)


def test_every_model_judges_the_text_and_nothing_is_taken_for_html():
    models = {"<length>": lambda text: (len(text) / 10, 1 - len(text) / 10), "coin": lambda text: (0.5, 0.5)}
    text, result = panels.classify_panel(models, ["long", "short"], "seven <").children
    assert shares(result.value) == ["70.0", "30.0", "50.0", "50.0"]
    assert "<length>" not in result.value and "&lt;length&gt;" in result.value
    text.value = "two"
    assert shares(result.value)[:2] == ["30.0", "70.0"]
    text.value = "  "
    assert "empty" in result.value
