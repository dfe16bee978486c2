import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.errors import InputError
from bertlab.explain.pieces import CutWord, cut_words, longest_match_tries, smallest_size, with_fewer_pieces
from bertlab.tokenizer import SPECIAL_TOKENS, Tokenizer
from tests.conftest import tries

TEXTS = ["my dog is hairy, and he likes walks in the park.", "penguins are flightless birds"] * 3


@pytest.fixture(scope="module")
def tok():
    return Tokenizer.train(TEXTS, vocab_size=90)


def test_words_with_their_pieces(tok):
    dog, unknown, mask, mark = cut_words(tok, "Dóg ☃x [MASK].")
    assert (dog.written, dog.cleaned, "".join(dog.pieces).replace("##", "")) == ("Dóg", "dog", "dog")
    assert (unknown.written, unknown.pieces, unknown.ids) == ("☃x", ("[UNK]",), (tok.unk_token_id,))
    assert mask == CutWord("[MASK]", "[MASK]", ("[MASK]",), (tok.mask_token_id,))
    assert mark.written == "."


def test_a_word_is_written_with_the_accent_at_its_end(tok):
    (word,) = cut_words(tok, "Jose\u0301")
    assert (word.written, word.cleaned) == ("Jose\u0301", "jose")


@tries(60)
@given(st.text(max_size=40))
def test_words_hold_every_piece_in_order(tok, text):
    words = cut_words(tok, text)
    assert [piece for word in words for piece in word.pieces] == tok.tokenize(text)
    assert all(word.written in text and word.written for word in words)


@given(st.text("abdeghiklnoprsy", min_size=1, max_size=12))
@tries(60)
def test_tries_end_in_the_pieces(tok, word):
    tries = longest_match_tries(word, tok.vocab)
    known = [("##" if start else "") + word[start:end] for start, end, known in tries if known]
    assert known == tok.tokenize(word) or not tries[-1].known


def test_tries_stop_where_no_letter_fits(tok):
    tries = longest_match_tries("do☃", tok.vocab)
    assert tries[-1] == (2, 3, False) and tok.tokenize("do☃") == ["[UNK]"]


def test_fewer_pieces_are_what_a_shorter_training_learns(tok):
    shorter = Tokenizer.train(TEXTS, vocab_size=70)
    assert with_fewer_pieces(tok, 70).vocab == shorter.vocab
    letters = with_fewer_pieces(tok, smallest_size(tok))
    assert letters.tokenize("dog") == ["d", "##o", "##g"]
    assert with_fewer_pieces(tok, 90, lowercase=False).tokenize("Dog") == ["[UNK]"]


def test_smallest_size_of_letters_alone():
    assert smallest_size(Tokenizer.from_vocab([*SPECIAL_TOKENS, "a", "##a"])) == 7


@pytest.mark.parametrize("size", [3, 91])
def test_no_such_size(tok, size):
    with pytest.raises(InputError, match=f"size={size}"):
        with_fewer_pieces(tok, size)
