import math

import pytest

from bertlab.explain.words.fill import fill_mask
from bertlab.explain.words.guess import guess_words, one_token

TEXT = "the [MASK] didn't cross the [MASK]."


def test_guesses_are_whole_words_with_their_probabilities(model, tok):
    everything = fill_mask(model, tok, TEXT, k=tok.vocab_size)[1]
    p = dict(zip(everything.tokens, everything.probabilities, strict=True))
    found = guess_words(model, tok, TEXT, gap=1, k=7)
    whole = [token for token in everything.tokens if not token.startswith(("##", "[")) and any(map(str.isalnum, token))]
    assert found.fill.tokens == whole[:7] and found.fill.position == everything.position
    assert found.fill.probabilities == pytest.approx([p[token] for token in whole[:7]], abs=1e-6)
    assert found.fill.entropy == pytest.approx(everything.entropy, abs=1e-4)
    assert "." in everything.tokens
    assert found.no_words == pytest.approx(1 - sum(p[token] for token in whole), abs=1e-5)


def test_a_guess_has_its_rank_among_whole_words(model, tok):
    every = guess_words(model, tok, TEXT, k=tok.vocab_size).fill
    assert all(map(math.isfinite, every.probabilities))
    for rank in (1, 3, 40):
        found = guess_words(model, tok, TEXT, every.tokens[rank - 1].upper(), k=3)
        assert (found.word, found.rank) == (every.tokens[rank - 1], rank)
        assert found.probability == pytest.approx(every.probabilities[rank - 1], abs=1e-6)
        assert found.with_word.tokens == every.tokens[:3] + every.tokens[39:40] * (rank == 40)


@pytest.mark.parametrize("word", ["", "  ", "two words", "penguinologist", "[MASK]", "[UNK]", "动", "\x00"])
def test_what_is_not_one_word_has_no_rank(word, model, tok):
    assert one_token(tok, word) is None
    found = guess_words(model, tok, TEXT, word)
    assert (found.rank, found.probability, found.with_word) == (0, 0.0, found.fill)


def test_punctuation_has_no_rank(model, tok):
    assert one_token(tok, ".") is not None
    assert guess_words(model, tok, TEXT, ".").rank == 0
