"""The panel of chapter 10: functions by a question of the reader's."""

import re

import numpy as np
import pytest

from bertlab.course.panels import search_panel
from bertlab.search.ranking import by_words
from bertlab.search.units import Unit
from bertlab.search.words import WordCounts

UNITS = [Unit("a.read", "(path)", "Read a <b>file</b>.", "read a file"), Unit("a.write", "()", "Write.", "write it")]


@pytest.fixture
def board():
    rankers = {
        "meaning": lambda question: np.array([0.2, 0.75]),
        "words": by_words(WordCounts.of([unit.text for unit in UNITS])),
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
