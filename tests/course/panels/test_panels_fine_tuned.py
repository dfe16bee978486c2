"""The panels of fine-tuned models: the class of a sentence, names, an answer in a passage, a search."""

import re
from html import unescape

import numpy as np
import pytest

from bertlab import Tokenizer
from bertlab.course import panels
from bertlab.course.panels import names_panel, search_panel
from bertlab.explain.spans import answer
from bertlab.search.ranking import by_words
from bertlab.search.units import Unit
from tests.course.panels.conftest import QUESTION, TEXTS


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


TEXT = "Rose Hill likes <b> roses. Lucky barks."


def capitals(words):
    """A tagger for tests: capitalised words are persons."""
    return ["B-person" if word[0].isupper() else "O" for word in words]


def nothing(words):
    return ["O"] * len(words)


def test_names_of_each_tagger_are_marked():
    tok = Tokenizer.train([TEXT] * 3, vocab_size=60)
    box = names_panel({"capitals & more": capitals, "none": nothing}, tok, TEXT)
    text, result = box.children
    assert result.value.count('class="mark"') == 3 and "<b> roses" not in result.value
    assert "capitals &amp; more" in result.value and "none" in result.value
    text.value = "no names here"
    assert result.value.count('class="mark"') == 0
    text.value = "   "
    assert "the text is empty" in result.value


def test_names_stand_in_without_a_kernel():
    tok = Tokenizer.train([TEXT] * 3, vocab_size=60)
    bundle = names_panel({"capitals": capitals}, tok, TEXT)._repr_mimebundle_()
    assert 'class="mark"' in bundle["text/html"] and "0x" not in bundle["text/plain"]


def test_spans_panel_follows_its_controls_and_escapes(reader, tok):
    question, passage, threshold, longest, result = panels.spans_panel(reader, tok, QUESTION, "my <dog> walks").children
    assert "<dog" not in result.value and "image/png" in result.value
    threshold.value = 15
    assert "not above" in result.value
    threshold.value = -15
    assert "above: no answer" in result.value
    threshold.value, longest.value = 15, 1
    found = answer(reader, tok, question.value, passage.value, max_answer_tokens=1)
    assert re.search(r"threshold 15\.0", result.value)
    assert next(span.text for span in found.spans if span.text) in unescape(re.sub(r"<[^>]+>", "", result.value))
    passage.value = " "
    assert "the passage is empty" in result.value


def test_without_a_kernel_there_is_the_square(reader, tok):
    still = panels.spans_panel(reader, tok, QUESTION, TEXTS[1])._repr_mimebundle_()["text/html"]
    assert "image/png" in still and "threshold" in still


UNITS = [Unit("a.read", "(path)", "Read a <b>file</b>.", "read a file"), Unit("a.write", "()", "Write.", "write it")]


@pytest.fixture
def board():
    rankers = {
        "meaning": lambda question: np.array([0.2, 0.75]),
        "words": by_words([unit.text for unit in UNITS]),
    }
    return search_panel(UNITS, rankers, "read it")


def names(html: str) -> list[str]:
    return re.findall(r"<b>(a\.\w+)</b>", html)


def test_units_in_the_order_of_the_chosen_ranker(board):
    question, way, result = board.children
    assert names(result.value) == ["a.write", "a.read"] and "0.75" in result.value
    way.value = "words"
    question.value = "read a file"
    assert names(result.value) == ["a.read", "a.write"] and "0.20" in result.value


def test_texts_are_shown_as_text(board):
    assert "Read a &lt;b&gt;file&lt;/b&gt;." in board.children[-1].value


def test_without_a_question_it_says_what_to_do(board):
    board.children[0].value = " "
    assert "Type a question" in board.children[-1].value


def test_it_shows_something_without_a_kernel(board):
    assert "a.write" in board._repr_mimebundle_()["text/html"]
