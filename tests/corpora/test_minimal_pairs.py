from collections import Counter

import pytest

from bertlab.corpora.minimal_pairs import PHENOMENA, minimal_pairs
from bertlab.errors import InputError


@pytest.mark.parametrize("phenomenon", PHENOMENA)
def test_pairs_differ_in_one_word_and_none_comes_twice(phenomenon):
    pairs = minimal_pairs(phenomenon)
    assert len(set(pairs)) == 500
    for pair in pairs:
        good, bad = pair.good.rstrip(".").split(), pair.bad.rstrip(".").split()
        assert len(good) == len(bad) and sum(a != b for a, b in zip(good, bad, strict=True)) == 1
        assert "{" not in pair.good and pair.good[0].isupper() and pair.good.endswith(".")


@pytest.mark.parametrize("phenomenon", PHENOMENA)
def test_the_same_seed_gives_the_same_pairs(phenomenon):
    assert minimal_pairs(phenomenon, 50, seed=3) == minimal_pairs(phenomenon, 50, seed=3)
    assert minimal_pairs(phenomenon, 50, seed=3) != minimal_pairs(phenomenon, 50, seed=4)


@pytest.mark.parametrize("phenomenon", ["agreement", "attractor", "determiner", "irregular"])
def test_either_form_is_right_about_equally_often(phenomenon):
    """So a model that always prefers the more frequent form gains nothing."""
    forms = Counter()
    for pair in minimal_pairs(phenomenon):
        (good, bad) = next(
            words
            for words in zip(pair.good.lower().split(), pair.bad.lower().split(), strict=True)
            if len(set(words)) > 1
        )
        forms[good] += 1
        forms[bad] -= 1
    assert sum(map(abs, forms.values())) / 2 < 0.3 * 500


def test_known_pairs_of_each_phenomenon():
    wanted = {
        "agreement": ("The boys", "The boy "),
        "attractor": (" near the ", " with the "),
        "reflexive": ("himself", "themselves"),
        "determiner": ("these ", "every "),
        "polarity": ("Nobody has ever", "She has never"),
        "irregular": ("has written", "wrote"),
    }
    for phenomenon, parts in wanted.items():
        text = "\n".join(pair.good for pair in minimal_pairs(phenomenon))
        assert all(part in text for part in parts), phenomenon


def test_what_cannot_be_had_is_named():
    with pytest.raises(InputError, match="choose one of agreement, attractor"):
        minimal_pairs("case")
    with pytest.raises(InputError, match="polarity has no more than"):
        minimal_pairs("polarity", 5000)
