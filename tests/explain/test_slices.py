"""Slices: every text is in one length, and a word that spoils its texts is found, one that does not is not."""

import random

from bertlab.explain.slices import by_length, by_word, words_of


def test_lengths_share_out_all_texts():
    texts = ["word " * (1 + i % 9) for i in range(90)]
    slices = by_length(texts, [float(len(text.split()) > 7) for text in texts])
    assert sum(one.count for one in slices) == 90
    assert [one.name for one in slices] == ["1 to 3 words", "4 to 5 words", "6 to 7 words", "8 to 9 words"]
    assert [one.score for one in slices] == [0, 0, 0, 1] and slices[0].distance < 0 < slices[3].distance
    assert [one.name for one in by_length(["a"] * 5, [1.0] * 5)] == ["1 word"]


def test_only_the_word_that_matters_stands_out():
    draw = random.Random(0)
    texts = [" ".join(draw.choices(["red", "green", "blue", "not"], k=3)) for _ in range(400)]
    scores = [float("not" not in text or draw.random() < 0.2) for text in texts]
    first, *others = by_word(texts, scores)
    assert first.name == "not" and first.distance < -5
    assert all(other.distance > -5 for other in others)
    assert not by_word(texts, [1.0] * 400) and not by_word(texts[:5], scores[:5])


def test_what_is_no_letter_is_no_word():
    assert words_of("I ❤️ it 👩‍👩‍👧, don't you? 東京") == ["i", "it", "don't", "you", "東", "京"]
