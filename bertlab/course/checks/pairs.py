"""Checkers of pairs: cutting them to fit, and making strangers of neighbours."""

import random
from collections import Counter
from collections.abc import Callable, Sequence

from bertlab.course.checks.base import checker, expect
from bertlab.inputs.negatives import cut_lengths
from bertlab.inputs.pairs import IS_NEXT, NOT_NEXT

Tokens = list[int]
Neighbours = list[tuple[int, Tokens, Tokens]]
MakePairs = Callable[[Neighbours, random.Random], list[tuple[Tokens, Tokens, int]]]


@checker
def check_cut_pair(fn: Callable[[Tokens, Tokens, int], tuple[Tokens, Tokens]]) -> None:
    """Check fn(first, second, budget) -> the two, cut at their outer ends, the longer first, to `budget` tokens."""
    for sizes, budget in (((3, 4), 9), ((12, 3), 10), ((3, 12), 10), ((9, 8), 10), ((7, 7), 9), ((20, 2), 6)):
        first, second = list(range(100, 100 + sizes[0])), list(range(200, 200 + sizes[1]))
        result = fn(list(first), list(second), budget)
        expect(isinstance(result, tuple) and len(result) == 2, "return the two texts, first and second.")
        _check_cut(list(result[0]), list(result[1]), first, second, budget)
    print("Right: the pair fits, and the two texts still meet.")


def _check_cut(mine: Tokens, other: Tokens, first: Tokens, second: Tokens, budget: int) -> None:
    given = f"{len(first)} and {len(second)} tokens into {budget}"
    total = len(mine) + len(other)
    if len(first) + len(second) <= budget:
        expect((mine, other) == (first, second), f"{given}: they fit, so nothing is cut.")
        return
    expect(bool(mine and other), f"{given}: one text is gone altogether; cut the longer one.")
    expect(total <= budget, f"{given}: your pair still has {total}.")
    expect(total == budget, f"{given}: you keep only {total}; stop cutting as soon as they fit.")
    expect(
        mine != first[: len(mine)] or len(mine) == len(first),
        "the first text lost its end: cut its beginning, so that it still runs up to where the second starts.",
    )
    expect(
        other != second[-len(other) :] or len(other) == len(second),
        "the second text lost its beginning: cut its end, so that it still starts where the first stops.",
    )
    kept, right = (len(mine), len(other)), cut_lengths(len(first), len(second), budget)
    fair = kept == right or (len(first) == len(second) and kept == right[::-1])
    expect(fair, f"{given}: you keep {kept[0]} and {kept[1]}; cut whichever is the longer one now, token by token.")
    expect((mine, other) == (first[-kept[0] :], second[: kept[1]]), "the tokens must stay in their order.")


@checker
def check_make_pairs(fn: MakePairs) -> None:
    """Check fn(neighbours, rng) -> (first, second, label) for each neighbour (document, first, second): half of them as
    they are, label 0, half with the second text of another document that is not the true one, label 1."""
    for seed in range(40):
        neighbours = _corpus(documents=2 + seed % 4)
        given = [(document, list(first), list(second)) for document, first, second in neighbours]
        pairs = fn(given, random.Random(seed))
        expect(given == neighbours, "your function changed the list it was given: work on a copy.")
        _check_pairs(pairs, neighbours)
        again = fn(given, random.Random(seed))
        expect(pairs == again, "the same seed gave two results: draw from the rng that you are given.")
    labels = {tuple(label for _, _, label in fn(given, random.Random(seed))) for seed in range(8)}
    apart = all(sorted(each) in (list(each), list(each[::-1])) for each in labels)
    expect(not apart, "all strangers stand together: shuffle the pairs before you return them.")
    firsts = {tuple(first[0] for first, _, label in fn(given, random.Random(s)) if label) for s in range(8)}
    expect(len(labels) > 1 or len(firsts) > 1, "every seed swaps the same pairs: let the rng choose which.")
    print("Right: half neighbours, half strangers, and no stranger that does follow.")


def _corpus(documents: int) -> Neighbours:
    """Four pairs a document; one second text, [7, 7], stands in every document."""
    pairs = [
        (document, [1000 * document + 10 * number], [1000 * document + 10 * number + 1])
        for document in range(documents)
        for number in range(3)
    ]
    return pairs + [(document, [1000 * document + 30], [7, 7]) for document in range(documents)]


def _check_pairs(pairs: Sequence, neighbours: Neighbours) -> None:
    expect(isinstance(pairs, list) and bool(pairs), "return a list of (first, second, label).")
    expect(all(len(pair) == 3 for pair in pairs), "each entry is (first, second, label).")
    document = {first[0]: number for number, first, _ in neighbours}
    true = {first[0]: second for _, first, second in neighbours}
    used = Counter(first[0] for first, _, _ in pairs)
    expect(set(used) == set(document), "each first text should be there: some are missing.")
    expect(max(used.values()) == 1, "a first text is used twice.")
    turned = all((list(second) == true[first[0]]) == (label == NOT_NEXT) for first, second, label in pairs)
    expect(not turned, "the labels are turned round: 0 is IsNext, 1 is NotNext.")
    for first, second, label in pairs:
        expect(label in (IS_NEXT, NOT_NEXT), f"a label is 0 or 1, not {label}.")
        _check_label(list(second), label, true[first[0]], document[first[0]], neighbours)
    strangers = sum(label == NOT_NEXT for _, _, label in pairs)
    expect(
        abs(2 * strangers - len(pairs)) <= 1,
        f"of {len(pairs)} pairs {strangers} are strangers: take exactly half, not one coin for each pair.",
    )


def _check_label(second: Tokens, label: int, true: Tokens, document: int, neighbours: Neighbours) -> None:
    if label == IS_NEXT:
        expect(second == true, "label 0 (IsNext) on a text that does not follow: 0 is for the true next one.")
        return
    expect(
        second != true,
        "label 1 (NotNext) on the true next text. It can come from another document too: compare the texts.",
    )
    sources = {number for number, _, text in neighbours if text == second}
    expect(bool(sources), "a second text is none of those given.")
    expect(sources != {document}, "a stranger comes from the same document: take it from another one.")
