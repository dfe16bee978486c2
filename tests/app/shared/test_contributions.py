"""Attributions in a sentence."""

import pytest
import torch

from app.shared import contributions
from app.shared.page import markdown
from bertlab.explain.attribution import Attribution


def of(tokens: str, *values: float) -> Attribution:
    return Attribution(tokens.split(), torch.tensor(values), 1.0, 0.0)


def test_pieces_are_one_word_and_equal_words_have_numbers():
    found = of("[CLS] the flight ##less the [MASK] . [UNK] [SEP]", 0, 1, 2, 3, 4, 9, 5, 6, 0)
    assert contributions.words(found) == [
        ("the 1st **the**", 1),
        ("**flightless**", 5),
        ("the 2nd **the**", 4),
        (r"**“\.”**", 5),
        (r"**\[UNK\]**", 6),
    ]


@pytest.mark.parametrize(
    ("number", "said"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (112, "112th"), (121, "121st")]
)
def test_ordinals(number, said):
    assert markdown.ordinal(number) == said


def test_a_sign_is_named_where_it_is_the_strongest():
    sentence = contributions.in_a_sentence("dog", of("[CLS] my ! cat [SEP]", 0, 1, 3, -2, 0))
    assert sentence == (
        r"In this text, **“\!”** (+3.0) and **my** (+1.0) contribute most to “**dog**” (blue); "
        "**cat** counts against it (−2.0, orange)."
    )


def test_what_nobody_would_notice_is_not_named():
    assert contributions.in_a_sentence("dog", of("[CLS] my cat [SEP]", 0, 0.04, -3, 0)).startswith(
        "No word of the text"
    )
    assert contributions.in_a_sentence("a", of("[CLS] my cat [SEP]", 0, 0.2, -0.04, 0)) == (
        "In this text, **my** (+0.2) contributes most to “**a**” (blue)."
    )
