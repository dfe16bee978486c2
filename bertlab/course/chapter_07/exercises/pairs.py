"""Make a pair fit, negatives, and rows of pairs."""

import random
from collections.abc import Sequence
from itertools import chain
from typing import Any

from bertlab.course.exercise import Exercise
from bertlab.course.observe import SHUFFLED, expect, value
from bertlab.course.solutions import pretraining
from bertlab.course.solutions.tokenizer import Tokenizer

Tokens = list[int]
TruePairs = list[tuple[int, Tokens, Tokens]]


def _texts() -> list[tuple]:
    sizes = ((3, 4, 9), (12, 3, 10), (3, 12, 10), (9, 8, 10), (9, 8, 9), (7, 7, 8), (20, 2, 6))
    return [(list(range(100, 100 + a)), list(range(200, 200 + b)), budget) for a, b, budget in sizes]


def _cut(cut_pair, first, second, budget) -> dict[str, Any]:
    found = value(cut_pair, first, second, budget)
    if budget % 2 == 0 or min(len(first), len(second)) <= budget // 2:
        return found
    left = sum(map(len, found.pop("result")))  # which text has a token more than the other is free
    return found | {"no more is cut than must be": left == budget}


def _the_short_one(first, second, budget):
    while len(first) + len(second) > budget:
        if 1 < len(first) < len(second) or len(second) == 1:
            first = first[1:]
        else:
            second = second[:-1]
    return first, second


check_cut_pair = Exercise(
    pretraining.cut_pair,
    _texts,
    right="Right: the pair fits, and the two texts still meet.",
    observe=_cut,
    gives=("the first text", "the second text"),
    kept=("cut_pair",),
    slips=[
        (
            "the pair is still longer than the budget: cut until it fits.",
            "while len(first) + len(second) > budget => while False",
        ),
        ("you cut too much; stop cutting as soon as they fit.", "> budget => > budget - 1"),
        ("you cut too much; stop cutting as soon as they fit.", "> budget => >= budget"),
        (
            "the first text lost its end: cut its beginning, so that it still runs up to where the second starts.",
            "first[1:] => first[:-1]",
        ),
        (
            "the second text lost its beginning: cut its end, so that it still starts where the first stops.",
            "second[:-1] => second[1:]",
        ),
        ("one text is gone altogether; cut the longer one.", "len(first) > len(second) => not second"),
        ("one text is gone altogether; cut the longer one.", "len(first) > len(second) => first"),
        (
            "cut whichever is the longer one now, token by token: a half for each leaves room unused.",
            lambda a, b, n: (a[-(n // 2) :], b[: n - n // 2]),
        ),
        ("cut whichever is the longer one now, token by token: yours cuts the shorter.", _the_short_one),
        ("return the two texts, first and second.", "return first, second => return first + second"),
    ],
    spared={"if len(first) >= len(second)": "of two texts of one length either may be cut"},
)


def _interleaved(documents: int) -> TruePairs:
    """Four pairs a document, not in the order of documents; one second text, [7, 8], stands in every document."""

    def texts(start: int, size: int) -> tuple[Tokens, Tokens]:
        return [start, start + 5, start + 6], [start + 1] * size + [start + 2]

    pairs = [(d, *texts(1000 * d + 10 * n, 1 + n)) for n in range(3) for d in range(documents)]
    return pairs + [(d, [1000 * d + 30, 9], [7, 8]) for d in reversed(range(documents))]


def _of_lengths() -> TruePairs:
    return [(d, [1000 * d + size], [1000 * d + size] * size) for d in range(12) for size in range(3, 40, 3)]


def _made(make_pairs, negative=None) -> dict[str, Any]:
    """What holds of the pairs of many seeds."""
    corpora = [_interleaved(2 + seed % 4)[seed % 2 :] for seed in range(24)]  # also an odd number of pairs
    corpora.append([(n // 40, [10 * n], [10 * n + 1]) for n in range(42)])  # nearly all of one document
    made = [_pairs_of(make_pairs, corpus, seed) for seed, corpus in enumerate(corpora)]
    found = [_facts(pairs, corpus) for pairs, corpus in zip(made, corpora, strict=True)]
    same = [_pairs_of(make_pairs, _interleaved(3), seed) for seed in range(32)]
    labels = [[label for *_, label in pairs] for pairs in same]
    swapped = [{first[0] for first, _, label in pairs if label} for pairs in same]
    seconds: dict[int, set] = {}
    for first, second, label in chain.from_iterable(same):
        seconds.setdefault(first[0], set()).update([tuple(second)] if label else [])
    everyone = {first[0] for _, first, _ in _interleaved(3)}
    true = {first[0]: len(second) for _, first, second in _of_lengths()}
    off = [abs(len(b) - true[a[0]]) for a, b, label in _pairs_of(make_pairs, _of_lengths(), 0) if label]
    return {name: all(each[name] for each in found) for name in found[0]} | {
        "the same seed gives the same result": same[0] == _pairs_of(make_pairs, _interleaved(3), 0),
        "another seed gives another result": any(pairs != same[0] for pairs in same),
        "each pair is a negative with some seeds and true with others": set.union(*swapped) == everyone
        and not set.intersection(*swapped),
        "true pairs and negatives are mixed": not all(sorted(each) in (each, each[::-1]) for each in labels),
        "the places of the negatives differ from seed to seed": len(set(map(tuple, labels))) > 1,
        "the pairs are in a random order": len({tuple(first[0] for first, *_ in pairs) for pairs in same}) > 1,
        "a pair has one negative with some seeds and another with others": all(
            len(own) > 1 for own in seconds.values()
        ),
        "a negative is about as long as the true second text": sum(off) < 6 * len(off),
    }


def _pairs_of(make_pairs, corpus: TruePairs, seed: int) -> Sequence:
    found = value(make_pairs, corpus, random.Random(seed))
    expect(not found["changed"], "your function changed the list it was given: work on a copy.")
    pairs = found["result"]
    expect(isinstance(pairs, list) and bool(pairs), "return a list of (first, second, label).")
    expect(all(len(pair) == 3 for pair in pairs), "each entry is (first, second, label).")
    return pairs


def _facts(pairs: Sequence, corpus: TruePairs) -> dict[str, bool]:
    document = {first[0]: number for number, first, _ in corpus}
    true = {first[0]: second for _, first, second in corpus}
    sources = [{number for number, _, text in corpus if text == list(second)} for _, second, _ in pairs]
    follows = [list(second) == true.get(first[0]) for first, second, _ in pairs]
    labels = [label for *_, label in pairs]
    elsewhere = [each != {document.get(pair[0][0])} for each, pair in zip(sources, pairs, strict=True)]
    return {
        "each first text is there once": sorted(list(first) for first, *_ in pairs) == sorted(a for _, a, _ in corpus),
        "a label is a whole number, 0 or 1": set(map(repr, labels)) <= {"0", "1"},
        "second texts are those given": all(sources),
        "label 0 is for a second text that follows": all(
            one for one, label in zip(follows, labels, strict=True) if not label
        ),
        "label 1 is for a second text that does not follow": not any(
            one for one, label in zip(follows, labels, strict=True) if label
        ),
        "a negative comes from another document": all(
            one for one, label in zip(elsewhere, labels, strict=True) if label
        ),
        "exactly half, rounded down, are negatives": sum(labels) == len(labels) // 2,
    }


NEGATIVE = "negative(document, second, positives, rng), 1)"
NEAREST = "return min(others, key=lambda text: abs(len(text) - len(second)))"

check_make_pairs = Exercise(
    pretraining.make_pairs,
    lambda: [()],
    right="Right: half true pairs, half negatives, and neither the text itself nor its length gives a negative away.",
    observe=_made,
    helpers=(pretraining.negative,),
    kept=("negative", "make_pairs"),
    slips=[
        (
            "your function changed the list it was given: work on a copy.",
            "shuffled = rng.sample(positives, len(positives)) => rng.shuffle(positives); shuffled = positives",
        ),
        ("the labels are swapped: 0 is IsNext, 1 is NotNext.", "second, 0) => second, 1)", "rng), 1) => rng), 0)"),
        ("label 0 (IsNext) on a text that does not follow: 0 is for the true next one.", "rng), 1) => rng), 0)"),
        (
            "label 1 (NotNext) on the true next text. It can come from another document too: compare the texts.",
            " and text != second => ",
        ),
        ("a negative comes from the same document: take it from another one.", "other != document and  => "),
        (
            "take exactly half, not one coin for each pair.",
            "half = len(shuffled) // 2 => half = sum(rng.random() < 0.5 for _ in shuffled)",
        ),
        ("if no candidate will do, draw again.", "while True => for _ in range(1)"),
        (
            "take exactly half of the pairs for negatives, and leave the others as they are.",
            "half = len(shuffled) // 2 => half = len(shuffled)",
        ),
        (
            "all negatives stand together: shuffle the pairs before you return them.",
            "return rng.sample(pairs, len(pairs)) => return pairs",
        ),
        (
            "the same pairs are always negatives: shuffle before you halve.",
            "shuffled = rng.sample(positives, len(positives)) => shuffled = positives",
        ),
        (
            "every seed swaps the same pairs: let the rng choose which.",
            "shuffled = rng => import random; rng = random.Random(0); shuffled = rng",
        ),
        (
            "the same seed gave two results: draw from the rng that you are given.",
            "shuffled = rng => import random; rng = random; shuffled = rng",
        ),
        (
            "the length gives the negatives away: draw several candidates, and take the one nearest in length.",
            f"{NEAREST} => return rng.choice(others)",
        ),
        (
            "the length gives the negatives away: draw several candidates, and take the one nearest in length.",
            f"{NEAREST} => return max(others, key=len)",
        ),
        (
            "each first text should be there once: some are missing or used twice.",
            "shuffled[:half]] => shuffled[: half - 1]]",
        ),
        ("each first text should be there once: some are missing or used twice.", "shuffled[half:]] => shuffled]"),
        (
            "return the pairs in a random order: yours is the same each time, so a batch holds neighbours.",
            "return rng.sample(pairs, len(pairs)) => return sorted(pairs)",
        ),
        (
            "the same texts are negatives each time, and can be learned by heart: draw candidates from all pairs, anew "
            "for each.",
            "rng.choices(positives, k=20) => positives",
        ),
        ("a second text is none of those given.", f"{NEGATIVE} => [*second, 5], 1)"),
        ("a label is 0 or 1.", "rng), 1) => rng), 2)"),
        ("a label is a number, 0 or 1.", "second, 0) => second, False)", "rng), 1) => rng), True)"),
        ("texts stay as they are: neither cut nor turned round.", "pairs = [(first, => pairs = [(first[::-1],"),
        (
            "the first text must stay: a negative has another second text.",
            f"(first, {NEGATIVE} => ({NEGATIVE[:-4]}, second, 1)",
        ),
    ],
    spared={"k=21": "how many candidates are drawn is free"},
)


def _pairs() -> list[tuple]:
    tokenizer = Tokenizer({token: number for number, token in enumerate(SHUFFLED)})
    return [
        ([([7, 8], [9], 0), ([11], [12, 13, 14], 1), ([15], [16], 0)], tokenizer),
        ([([7], [8, 9, 10], 1), ([11, 12, 13, 14], [6], 0)], tokenizer),
    ]


MASK = "[1] * len(row) + [0] * left"

check_collate = Exercise(
    pretraining.collate,
    _pairs,
    right="Right: every row begins with [CLS], and what is no token is padding.",
    observe=value,
    kept=("collate",),
    slips=[
        (
            "token_type_ids are 1 on the second text and its [SEP].",
            "[1] * (len(second) + 1) => [0] * (len(second) + 1)",
        ),
        (
            "the first [SEP] closes the first text: its segment is 0.",
            "(len(first) + 2) + [1] * (len(second) + 1) => (len(first) + 1) + [1] * (len(second) + 2)",
        ),
        ("token_type_ids are 0 on padding.", "kind + [0] * left => kind + [1] * left"),
        ("[PAD] is tokenizer.pad_token_id, which need not be 0.", "[pad] * left => [0] * left"),
        (
            "a token may have the id 0: where a row is padding its length says.",
            f"{MASK} => [int(number != 0) for number in row] + [0] * left",
        ),
        ("attention_mask is 1 on tokens, 0 on padding.", f"{MASK} => [0] * len(row) + [1] * left"),
        ("attention_mask is 0 on padding, else words attend to it.", f"{MASK} => [1] * (len(row) + left)"),
        ("a [SEP] stands behind each of the two texts.", "first + sep + second + sep => first + second + sep"),
        ("pad every row to the longest one of the batch.", "max(map(len, rows)) => 12"),
        ("next_sentence_label is the label of each pair, as it was given.", "[label for => [1 - label for"),
    ],
)
