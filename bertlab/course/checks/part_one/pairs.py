"""Checkers of pairs: cutting them to fit, making negatives of true pairs, and batches of both."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.course.checks.base import checker, expect, none_of, run
from bertlab.course.solutions import pretraining as solution
from bertlab.course.solutions.config import SPECIAL
from bertlab.course.solutions.tokenizer import Tokenizer
from bertlab.inputs.negatives import cut_lengths
from bertlab.inputs.pairs import IS_NEXT, NOT_NEXT

Tokens = list[int]
TruePairs = list[tuple[int, Tokens, Tokens]]
MakePairs = Callable[[TruePairs, random.Random], list[tuple[Tokens, Tokens, int]]]
LENGTHS = range(3, 40, 3)  # of second texts, in tokens


@checker
def check_cut_pair(fn: Callable[[Tokens, Tokens, int], tuple[Tokens, Tokens]]) -> None:
    """Check fn(first, second, budget) -> the two, cut at their outer ends, the longer first, to `budget` tokens."""
    for sizes, budget in (((3, 4), 9), ((12, 3), 10), ((3, 12), 10), ((9, 8), 10), ((7, 7), 9), ((20, 2), 6)):
        first, second = list(range(100, 100 + sizes[0])), list(range(200, 200 + sizes[1]))
        result = run(fn, list(first), list(second), budget)
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
    """Check fn(positives, rng) -> (first, second, label) for each true pair (document, first, second): half of them as
    they are, label 0, half with a second text of another document, not the true one and about as long, label 1."""
    for seed in range(40):
        positives = _corpus(documents=2 + seed % 4)
        given = [(document, list(first), list(second)) for document, first, second in positives]
        pairs = run(fn, given, random.Random(seed))
        expect(given == positives, "your function changed the list it was given: work on a copy.")
        _check_pairs(pairs, positives)
        again = run(fn, given, random.Random(seed))
        expect(pairs == again, "the same seed gave two results: draw from the rng that you are given.")
    _check_order([run(fn, given, random.Random(seed)) for seed in range(8)])
    _check_lengths(fn)
    print("Right: half true pairs, half negatives, and neither the text itself nor its length gives a negative away.")


def _corpus(documents: int) -> TruePairs:
    """Four pairs a document; one second text, [7], stands in every document."""
    pairs = [
        (document, [1000 * document + 10 * number], [1000 * document + 10 * number + 1])
        for document in range(documents)
        for number in range(3)
    ]
    return pairs + [(document, [1000 * document + 30], [7]) for document in range(documents)]


def _check_order(drawn: Sequence[Sequence[tuple[Tokens, Tokens, int]]]) -> None:
    labels = {tuple(label for _, _, label in pairs) for pairs in drawn}
    apart = all(sorted(each) in (list(each), list(each[::-1])) for each in labels)
    expect(not apart, "all negatives stand together: shuffle the pairs before you return them.")
    firsts = {tuple(first[0] for first, _, label in pairs if label) for pairs in drawn}
    expect(len(labels) > 1 or len(firsts) > 1, "every seed swaps the same pairs: let the rng choose which.")


def _check_lengths(fn: MakePairs) -> None:
    """Negatives are about as long as the true second texts."""
    positives = [
        (document, [1000 * document + size], [1000 * document + size] * size)
        for document in range(12)
        for size in LENGTHS
    ]
    true = {first[0]: len(second) for _, first, second in positives}
    pairs = run(fn, positives, random.Random(0))
    off = [abs(len(second) - true[first[0]]) for first, second, label in pairs if label == NOT_NEXT]
    mean = sum(off) / len(off)
    expect(
        mean < 6,
        f"the length gives the negatives away: on average {mean:.0f} tokens more or fewer than the true second text. "
        "Draw several candidates, and take the one nearest in length.",
    )


def _check_pairs(pairs: Sequence, positives: TruePairs) -> None:
    expect(isinstance(pairs, list) and bool(pairs), "return a list of (first, second, label).")
    expect(all(len(pair) == 3 for pair in pairs), "each entry is (first, second, label).")
    document = {first[0]: number for number, first, _ in positives}
    true = {first[0]: second for _, first, second in positives}
    used = Counter(first[0] for first, _, _ in pairs)
    expect(set(used) == set(document), "each first text should be there: some are missing.")
    expect(max(used.values()) == 1, "a first text is used twice.")
    swapped = all((list(second) == true[first[0]]) == (label == NOT_NEXT) for first, second, label in pairs)
    expect(not swapped, "the labels are swapped: 0 is IsNext, 1 is NotNext.")
    for first, second, label in pairs:
        expect(label in (IS_NEXT, NOT_NEXT), f"a label is 0 or 1, not {label}.")
        _check_label(list(second), label, true[first[0]], document[first[0]], positives)
    negatives = sum(label == NOT_NEXT for _, _, label in pairs)
    expect(
        abs(2 * negatives - len(pairs)) <= 1,
        f"of {len(pairs)} pairs {negatives} are negatives: take exactly half, not one coin for each pair.",
    )


def _check_label(second: Tokens, label: int, true: Tokens, document: int, positives: TruePairs) -> None:
    if label == IS_NEXT:
        expect(second == true, "label 0 (IsNext) on a text that does not follow: 0 is for the true next one.")
        return
    expect(
        second != true,
        "label 1 (NotNext) on the true next text. It can come from another document too: compare the texts.",
    )
    sources = {number for number, _, text in positives if text == second}
    expect(bool(sources), "a second text is none of those given.")
    expect(sources != {document}, "a negative comes from the same document: take it from another one.")


@checker
def check_collate(fn: Callable[[list, Any], dict[str, Tensor]]) -> None:
    """Check fn([(first, second, label), ...], tokenizer) -> input_ids, attention_mask, token_type_ids (B, S) and
    next_sentence_label (B,): [CLS] first [SEP] second [SEP], padded to the longest row."""
    tokenizer = Tokenizer({token: number for number, token in enumerate(SPECIAL)})
    pairs = [([7, 8], [9], 0), ([11], [12, 13, 14], 1), ([15], [16], 0)]
    batch = run(fn, pairs, tokenizer)
    right = solution.collate(pairs, tokenizer)
    expect(isinstance(batch, dict), "return a dictionary of tensors.")
    missing = right.keys() - batch.keys()
    expect(not missing, f"{', '.join(sorted(missing))} is not in your dictionary.")
    none_of(
        batch["token_type_ids"],
        [
            (right["token_type_ids"] * 0, "token_type_ids are 1 on the second text and its [SEP]."),
            ((right["token_type_ids"] | (1 - right["attention_mask"])), "token_type_ids are 0 on padding."),
        ],
    )
    none_of(batch["attention_mask"], [(1 - right["attention_mask"], "attention_mask is 1 on tokens, 0 on padding.")])
    for name, wanted in right.items():
        found = batch[name]
        expect(isinstance(found, Tensor), f"{name} should be a tensor.")
        expect(found.shape == wanted.shape, f"{name} should be {tuple(wanted.shape)}, not {tuple(found.shape)}.")
        expect(torch.equal(found.long(), wanted), f"{name} should be {wanted.tolist()}; yours is {found.tolist()}.")
    print("Right: every row begins with [CLS], and what is no token is padding.")


@checker
def check_batches(fn: Callable[..., Iterator[dict[str, Tensor]]]) -> None:
    """Check fn(documents, tokenizer, size, max_tokens, rate, seed) -> batches without end."""
    tokens = [*SPECIAL, *(f"w{number}" for number in range(600))]
    tokenizer = Tokenizer({token: number for number, token in enumerate(tokens)})
    documents = [[[5 + 60 * d + 6 * s + t for t in range(6)] for s in range(10)] for d in range(10)]
    made = [_some_batches(fn, documents, tokenizer, seed) for seed in (0, 0, 1)]
    same = [all(map(torch.equal, a["input_ids"], b["input_ids"])) for a, b in zip(made[0], made[1], strict=True)]
    expect(all(same), "the same seed gave two results: draw from its generators alone.")
    expect(
        not all(torch.equal(a["labels"], b["labels"]) for a, b in zip(made[0], made[2], strict=True)),
        "two seeds gave one result: both generators begin with the seed.",
    )
    _check_masking(made[0], tokenizer)
    asked = float(torch.cat([batch["next_sentence_label"] for batch in made[0]]).float().mean())
    expect(0.25 < asked < 0.75, f"{asked:.0%} of the pairs are NotNext: half of them should be.")
    for batch in made[0]:
        _check_true_pairs(batch, tokenizer)
    print("Right: true pairs and negatives, masked anew each time, without end.")


def _some_batches(fn: Callable, documents: list, tokenizer: Any, seed: int) -> list[dict[str, Tensor]]:
    found = list(islice(run(fn, documents, tokenizer, 4, 24, 0.15, seed), 12))
    expect(len(found) == 12, f"the batches end after {len(found)}: begin another round over the documents.")
    names = {"input_ids", "attention_mask", "token_type_ids", "labels", "next_sentence_label"}
    expect(all(names <= batch.keys() for batch in found), f"each batch has {', '.join(sorted(names))}.")
    longest = max(batch["input_ids"].size(1) for batch in found)
    expect(longest <= 24, f"a row has {longest} tokens where max_tokens is 24: [CLS] and two [SEP] count.")
    expect({len(batch["input_ids"]) for batch in found} == {4}, "every batch has `size` rows.")
    return found


def _check_masking(made: list[dict[str, Tensor]], tokenizer: Any) -> None:
    masked = sum(int((batch["labels"] != IGNORED).sum()) for batch in made)
    ordinary = sum(int((batch["attention_mask"].sum(1) - 3).sum()) for batch in made)
    expect(0.1 < masked / ordinary < 0.2, f"{masked / ordinary:.0%} of the words are masked: it should be 15%.")
    for batch in made:
        labels = batch["labels"][batch["labels"] != IGNORED]
        expect(bool((labels >= len(SPECIAL)).all()), "special tokens were masked.")
        expect(bool((batch["input_ids"] == tokenizer.mask_token_id).any()), "labels are there, and no [MASK] is.")


def _check_true_pairs(batch: dict[str, Tensor], tokenizer: Any) -> None:
    """Ids of a document run on by 1: a true second text begins where the first ends."""
    ids = torch.where(batch["labels"] != IGNORED, batch["labels"], batch["input_ids"])
    for row, types, label in zip(
        ids.tolist(), batch["token_type_ids"].tolist(), batch["next_sentence_label"].tolist(), strict=True
    ):
        start = types.index(1)
        follows = row[start] == row[start - 2] + 1
        expect(follows == (label == IS_NEXT), "a label does not fit its pair: 0 where the second text goes on, else 1.")
