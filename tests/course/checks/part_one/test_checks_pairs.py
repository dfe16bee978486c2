"""The checkers of pairs pass right answers and name the mistake of each known wrong one."""

import random

import pytest

from bertlab.course import Mistake, check_cut_pair, check_make_pairs

# Cutting


def right_cut(first, second, budget):
    while len(first) + len(second) > budget:
        if len(first) > len(second):
            first = first[1:]
        else:
            second = second[:-1]
    return first, second


def other_tie(first, second, budget):
    while len(first) + len(second) > budget:
        if len(first) >= len(second):
            first = first[1:]
        else:
            second = second[:-1]
    return first, second


def equally(first, second, budget):
    return (first[-(budget // 2) :], second[: budget - budget // 2])


def short_one(first, second, budget):
    over = max(len(first) + len(second) - budget, 0)
    keep = max(min(len(first), len(second)) - over, 1)
    if len(first) < len(second):
        return (first[-keep:], second[: budget - keep]) if over else (first, second)
    return (first[-(budget - keep) :], second[:keep]) if over else (first, second)


CUT_MISTAKES = {
    "still has": lambda a, b, n: (a, b),
    "you keep only": lambda a, b, n: right_cut(a, b, n - 1 if len(a) + len(b) > n else n),
    "they fit": lambda a, b, n: right_cut(a, b, n - 3),
    "is gone altogether": lambda a, b, n: (a[-n:], b[: max(n - len(a), 0)]) if len(a) + len(b) > n else (a, b),
    "first text lost its end": lambda a, b, n: (a[: len(right_cut(a, b, n)[0])], right_cut(a, b, n)[1]),
    "second text lost its beginning": lambda a, b, n: (
        right_cut(a, b, n)[0],
        b[len(b) - len(right_cut(a, b, n)[1]) :],
    ),
    "whichever is the longer": short_one,
    "return the two texts": lambda a, b, n: a + b,
    "your code stopped": lambda a, b, n: (a - n, b),
    "in their order": lambda a, b, n: (right_cut(a, b, n)[0][::-1], right_cut(a, b, n)[1]),
}


@pytest.mark.parametrize("right", [right_cut, other_tie])
def test_cut_right(right):
    check_cut_pair(right)


@pytest.mark.parametrize("words", CUT_MISTAKES)
def test_cut_mistake(words):
    wrong = CUT_MISTAKES[words]
    if words == "in their order":

        def wrong(a, b, n):
            a, b = right_cut(a, b, n)
            return (a[1:2] + a[:1] + a[2:], b) if len(a) > 4 and n == 10 else (a, b)

    with pytest.raises(Mistake, match=words):
        check_cut_pair(wrong)


def test_cutting_both_to_a_half_is_found():
    with pytest.raises(Mistake):
        check_cut_pair(equally)


# True pairs and negatives


def make_pairs(lenders, half=None, label=1, rng_of=lambda rng: rng, pick=None):
    """A maker of pairs whose negatives take the second text of one of `lenders(place, positives)`."""

    def fn(positives, rng):
        rng = rng_of(rng)
        places = list(range(len(positives)))
        rng.shuffle(places)
        negatives = places[: half(len(places)) if half else len(places) // 2]
        pairs = []
        for place, (_, first, second) in enumerate(positives):
            if place in negatives:
                others = [positives[other][2] for other in lenders(place, positives)]
                pairs.append((first, (pick or nearest)(others, second, rng), label))
            else:
                pairs.append((first, second, 1 - label))
        rng.shuffle(pairs)
        return pairs

    return fn


def nearest(others, second, rng):
    return min(rng.sample(others, min(len(others), 20)), key=lambda text: abs(len(text) - len(second)))


def anyone(others, second, rng):
    return rng.choice(others)


def longest(others, second, rng):
    return max(others, key=len)


def good(place, positives):
    document, _, true = positives[place]
    return [i for i, (other, _, second) in enumerate(positives) if other != document and second != true]


def as_long(place, positives):
    return [i for i in good(place, positives) if len(positives[i][2]) == len(positives[place][2])]


def other_documents(place, positives):
    return [i for i, (other, _, _) in enumerate(positives) if other != positives[place][0]]


def anything_else(place, positives):
    return [i for i, (_, _, second) in enumerate(positives) if second != positives[place][2]]


def exchanged(positives, rng):
    """Pairs that are alike in length exchange their second texts, as the library does it."""
    shuffled = rng.sample(positives, len(positives))
    half = len(shuffled) // 2
    pairs = [(first, second, 0) for _, first, second in shuffled[half:]]
    for document, first, second in shuffled[:half]:
        others = [text for other, _, text in shuffled if other != document and text != second]
        pairs.append((first, min(others, key=lambda text: abs(len(text) - len(second))), 1))
    return rng.sample(pairs, len(pairs))


def emptied(positives, rng):
    pairs = make_pairs(good)(positives, rng)
    positives.clear()
    return pairs


def fixed(positives, rng):
    return make_pairs(good)(positives, random.Random(0))


def coin(positives, rng):
    return make_pairs(good, half=lambda n: sum(rng.random() < 0.5 for _ in range(n)))(positives, rng)


def negatives_last(positives, rng):
    return sorted(make_pairs(good)(positives, rng), key=lambda pair: pair[2])


PAIR_MISTAKES = {
    "labels are swapped": make_pairs(good, label=0),
    "label 0 ": lambda positives, rng: [(a, b, 0) for a, b, _ in make_pairs(good)(positives, rng)],
    "can come from another document": make_pairs(other_documents),
    "comes from the same document": make_pairs(anything_else),
    "exactly half": make_pairs(good, half=lambda n: n),
    "one coin": coin,
    "stand together": negatives_last,
    "the same seed": make_pairs(good, rng_of=lambda rng: random),
    "every seed": fixed,
    "changed the list": emptied,
    "some are missing": lambda positives, rng: make_pairs(good)(positives, rng)[1:],
    "used twice": lambda positives, rng: (pairs := make_pairs(good)(positives, rng)) + pairs[:1],
    "none of those given": lambda positives, rng: [(first, [5], 1) for _, first, _ in positives],
    "a label is 0 or 1": lambda positives, rng: [(first, second, 2) for _, first, second in positives],
    "return a list": lambda positives, rng: None,
    "each entry is": lambda positives, rng: [(first, second) for _, first, second in positives],
    "length gives the negatives away": make_pairs(good, pick=anyone),
    "the one nearest in length": make_pairs(good, pick=longest),
    "your code stopped": lambda positives, rng: [(*pair, 0) for pair in rng.sample(positives, 10**6)],
}


@pytest.mark.parametrize("right", [make_pairs(good), make_pairs(as_long, pick=anyone), exchanged])
def test_pairs_right(right):
    check_make_pairs(right)


@pytest.mark.parametrize("words", PAIR_MISTAKES)
def test_pairs_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_make_pairs(PAIR_MISTAKES[words])
