"""word2vec: windows and examples against plain loops, the loss against its formula, and what it learns."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab import InputError, Tokenizer
from bertlab.relatives.word2vec import (
    Word2Vec,
    examples,
    gap_log_probabilities,
    nearest,
    negative_sampling_loss,
    train_word2vec,
    windows,
)
from bertlab.vocabulary import SPECIAL_TOKENS

WORDS = "cat dog red blue eats drives meat car".split()
TEXTS = st.lists(st.lists(st.integers(1, 9), max_size=6), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def tok():
    return Tokenizer.from_vocab([*SPECIAL_TOKENS, *WORDS])


@pytest.fixture(scope="module")
def texts(tok):
    lines = ["cat eats meat", "dog eats meat", "red car drives", "blue car drives"] * 60
    return tok.encode_batch(lines)


@given(texts=TEXTS, window=st.integers(1, 4))
def test_windows_hold_the_neighbours_within_the_text(texts, window):
    words, neighbours = windows(texts, window)
    assert neighbours.shape == (len(words), 2 * window)
    expected = [
        (word, [text[j] if 0 <= j < len(text) else 0 for j in range(i - window, i + window + 1) if j != i])
        for text in texts
        for i, word in enumerate(text)
    ]
    assert list(zip(words.tolist(), neighbours.tolist(), strict=True)) == expected


@given(texts=TEXTS, window=st.integers(1, 3))
def test_skip_gram_asks_for_each_neighbour_once(texts, window):
    words, neighbours = windows(texts, window)
    seen, asked = examples(words, neighbours, "skip-gram")
    pairs = [(w, n) for w, row in zip(words.tolist(), neighbours.tolist(), strict=True) for n in row if n]
    assert seen.shape == (len(pairs), 1)
    assert list(zip(seen[:, 0].tolist(), asked.tolist(), strict=True)) == pairs
    assert examples(words, neighbours, "cbow") == (neighbours, words)


def test_the_loss_is_the_formula():
    generator = torch.Generator().manual_seed(0)
    seen, right = torch.randn(2, 3, 4, generator=generator).double()
    noise = torch.randn(3, 2, 4, generator=generator).double()

    def log_sigmoid(x):
        return math.log(1 / (1 + math.exp(-x)))

    each = [
        -log_sigmoid(float(h @ v)) - sum(log_sigmoid(-float(h @ n)) for n in ns)
        for h, v, ns in zip(seen, right, noise, strict=True)
    ]
    assert float(negative_sampling_loss(seen, right, noise)) == pytest.approx(sum(each) / 3)


def test_the_mean_leaves_padding_out_and_order_makes_no_difference():
    model = Word2Vec(torch.ones(10), 4)
    words = torch.tensor([[3, 0, 5, 0], [5, 3, 0, 0], [0, 0, 0, 0]])
    means = model(words)
    torch.testing.assert_close(means[0], (model.seen.weight[3] + model.seen.weight[5]) / 2)
    torch.testing.assert_close(means[0], means[1])
    assert not means[2].any()


@pytest.mark.parametrize("kind", ["cbow", "skip-gram"])
def test_words_in_the_same_places_get_similar_vectors(kind, texts, tok):
    model = train_word2vec(texts, tok, kind, size=16, window=2, epochs=20, batch_size=64, learning_rate=0.02)
    for word, like in (("cat", "dog"), ("red", "blue")):
        assert nearest(model.seen.weight, tok, word, 1)[0][0] == like
    assert not model.seen.weight[tok.pad_token_id].any()


def test_scores_become_the_probabilities_of_the_text(tok):
    """Three of four cats eat, one drives: that is what the gap after "cat" must say."""
    texts = tok.encode_batch(["cat eats", "cat eats", "cat eats", "cat drives", "dog drives"] * 80)
    model = train_word2vec(texts, tok, size=8, window=1, epochs=40, batch_size=100, learning_rate=0.02)
    found = gap_log_probabilities(model, tok, ["cat [MASK]"], window=1)[0].exp()
    assert float(found.sum()) == pytest.approx(1, abs=1e-5)
    assert float(found[tok.vocab["eats"]]) == pytest.approx(0.75, abs=0.08)
    assert float(found[tok.vocab["drives"]]) == pytest.approx(0.25, abs=0.08)


def test_the_same_seed_gives_the_same_vectors(texts, tok):
    torch.manual_seed(5)
    first = train_word2vec(texts, tok, epochs=1, seed=3)
    torch.manual_seed(6)
    again, other = (train_word2vec(texts, tok, epochs=1, seed=seed) for seed in (3, 4))
    assert torch.equal(first.seen.weight, again.seen.weight)
    assert not torch.equal(first.seen.weight, other.seen.weight)


def test_the_gap_is_read_from_its_window_alone(texts, tok):
    model = train_word2vec(texts, tok, epochs=1)
    near, far = gap_log_probabilities(model, tok, ["red red [MASK] eats meat", "blue red [MASK] eats car"], window=1)
    torch.testing.assert_close(near, far)


MISTAKES = {
    "choose cbow": dict(kind="glove"),
    "size=0": dict(size=0),
    "window=0": dict(window=0),
    "epochs=0": dict(epochs=0),
    "no word of these texts": dict(texts=[[7], [8]]),
}


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_is_named(words, texts, tok):
    with pytest.raises(InputError, match=words):
        train_word2vec(**(dict(texts=texts, tokenizer=tok) | MISTAKES[words]))


def test_unknown_words_and_gaps_are_named(texts, tok):
    model = train_word2vec(texts, tok, epochs=1)
    with pytest.raises(InputError, match="“zebra” is no token of this model"):
        nearest(model.seen.weight, tok, "zebra")
    for text in ("cat eats", "[MASK] eats [MASK]"):
        with pytest.raises(InputError, match=r"\[MASK\] in place of one word"):
            gap_log_probabilities(model, tok, [text])
