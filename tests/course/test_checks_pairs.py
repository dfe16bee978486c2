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


# Neighbours and strangers


def make_pairs(lenders, half=None, label=1, rng_of=lambda rng: rng):
    """A maker of pairs whose strangers borrow from the places that `lenders(place, neighbours)` allows."""

    def fn(neighbours, rng):
        rng = rng_of(rng)
        places = list(range(len(neighbours)))
        rng.shuffle(places)
        strangers = places[: half(len(places)) if half else len(places) // 2]
        pairs = []
        for place, (_, first, second) in enumerate(neighbours):
            if place in strangers:
                other = rng.choice(lenders(place, neighbours))
                pairs.append((first, neighbours[other][2], label))
            else:
                pairs.append((first, second, 1 - label))
        rng.shuffle(pairs)
        return pairs

    return fn


def good(place, neighbours):
    document, _, true = neighbours[place]
    return [i for i, (other, _, second) in enumerate(neighbours) if other != document and second != true]


def other_documents(place, neighbours):
    return [i for i, (other, _, _) in enumerate(neighbours) if other != neighbours[place][0]]


def anything_else(place, neighbours):
    return [i for i, (_, _, second) in enumerate(neighbours) if second != neighbours[place][2]]


def emptied(neighbours, rng):
    pairs = make_pairs(good)(neighbours, rng)
    neighbours.clear()
    return pairs


def fixed(neighbours, rng):
    return make_pairs(good)(neighbours, random.Random(0))


def coin(neighbours, rng):
    return make_pairs(good, half=lambda n: sum(rng.random() < 0.5 for _ in range(n)))(neighbours, rng)


def strangers_last(neighbours, rng):
    return sorted(make_pairs(good)(neighbours, rng), key=lambda pair: pair[2])


PAIR_MISTAKES = {
    "turned round": make_pairs(good, label=0),
    "label 0 ": lambda neighbours, rng: [(a, b, 0) for a, b, _ in make_pairs(good)(neighbours, rng)],
    "can come from another document": make_pairs(other_documents),
    "comes from the same document": make_pairs(anything_else),
    "exactly half": make_pairs(good, half=lambda n: n),
    "one coin": coin,
    "stand together": strangers_last,
    "the same seed": make_pairs(good, rng_of=lambda rng: random),
    "every seed": fixed,
    "changed the list": emptied,
    "some are missing": lambda neighbours, rng: make_pairs(good)(neighbours, rng)[1:],
    "used twice": lambda neighbours, rng: (pairs := make_pairs(good)(neighbours, rng)) + pairs[:1],
    "none of those given": lambda neighbours, rng: [(first, [5], 1) for _, first, _ in neighbours],
    "a label is 0 or 1": lambda neighbours, rng: [(first, second, 2) for _, first, second in neighbours],
    "return a list": lambda neighbours, rng: None,
    "each entry is": lambda neighbours, rng: [(first, second) for _, first, second in neighbours],
}


def test_pairs_right():
    check_make_pairs(make_pairs(good))


@pytest.mark.parametrize("words", PAIR_MISTAKES)
def test_pairs_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_make_pairs(PAIR_MISTAKES[words])
