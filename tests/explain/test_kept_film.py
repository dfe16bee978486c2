"""What a training left of its snapshots: guesses and heads of a few sentences."""

import numpy as np
import pytest

from bertlab import Tokenizer
from bertlab.errors import InputError
from bertlab.explain.kept_film import FILE, has_film, read_film


def test_the_film_of_english_says_what_was_guessed_and_where_heads_attend():
    film, tok = read_film("english"), Tokenizer.from_pretrained("english")
    assert has_film("english") and film.guesses.shape == film.probabilities.shape
    for number in range(len(film.sentences)):
        rows = film.words(number)
        assert {step for step, *_ in rows} == set(film.steps) and all(0 <= p <= 1 for *_, p in rows)
        frames = film.heads(number, tok)
        size = len(frames[0].maps.tokens)
        assert [frame.step for frame in frames] == film.steps and frames[0].maps.weights.shape[-2:] == (size, size)
        assert frames[-1].maps.weights.sum(-1).numpy() == pytest.approx(1, abs=0.02)  # each is a whole number of 1/255


@pytest.mark.parametrize("content", [b"", b"no zip"])
def test_a_damaged_film_is_named(tmp_path, content):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(InputError, match=FILE):
        read_film(tmp_path)
    np.savez(tmp_path / FILE, steps=np.arange(2))
    with pytest.raises(InputError, match="no film"):
        read_film(tmp_path)
