"""Full rows, sentence order, replaced tokens, unpadded rows."""

import random
from typing import Any

import torch
from torch import Tensor

from bertlab.config import IGNORED
from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, value


def full_rows(documents, budget, sep):
    rows, row = [], []
    for document in documents:
        for number, sentence in enumerate(document):
            between = [sep] if number == 0 and row else []
            if len(row) + len(between) + len(sentence) > budget:
                rows.append(row)
                row, between = [], []
            row = row + between + sentence
    return [*rows, row]


def _documents() -> list[tuple]:
    return [
        ([[[1, 2, 3], [4, 5]], [[6, 7], [8], [9, 10, 11]], [[12, 13, 14, 15]]], 9, 99),
        ([[[1, 2, 3], [4, 5]], [[6, 7, 8]]], 8, 77),  # the second text fits, but not with its separator
        ([[[1, 2]], [[3, 4], [5]], [[6, 7, 8]]], 5, 55),
        ([[[1, 2, 3], [4, 5, 6], [7]]], 4, 55),  # the last sentence still fits into the first row
    ]


FULL = "len(row) + len(between) + len(sentence) > budget"

check_full_rows = Exercise(
    full_rows,
    _documents,
    right="Right: whole sentences, as many as fit, over the ends of documents.",
    observe=value,
    slips=[
        ("the last row is missing: keep it too.", "return [*rows, row] => return rows"),
        (
            "a row is longer than `budget`; the separator counts as a token.",
            f"{FULL} => len(row) + len(sentence) > budget",
        ),
        ("`budget` tokens are allowed: add sentences while they fit.", "> budget => >= budget"),
        (
            "a sentence is cut in two: rows hold whole ones.",
            f"if {FULL}: => while {FULL}:",
            "rows.append(row)\n                row, between = [], [] => room = budget - len(row) - len(between)\n      "
            "          rows.append(row + between + sentence[:room])\n                row, between, sentence = [], [], "
            "sentence[room:]",
        ),
        (
            "a row ends with its document: go on with the next document's first sentence while there is room.",
            f"if {FULL} => if row and number == 0 or {FULL}",
        ),
        (
            "keep the order: a sentence goes into the last row or a new one, never into an earlier one.",
            "            between =>             early = [r for r in rows if len(r) + len(sentence) <= budget]\n"
            "            if number and early: early[0] += sentence; continue\n            between",
        ),
        ("put `sep` between the texts of two documents in one row.", "[sep] if number == 0 and row else [] => []"),
        ("a row begins with `sep`: it stands between two texts alone.", "row, between = [], [] => row = []"),
        ("`sep` stands where a document begins, not between sentences.", "number == 0 and row => row"),
    ],
)


def order_pairs(positives, rng):
    drawn = rng.sample(positives, len(positives))
    half = len(drawn) // 2
    pairs = [(second, first, 1) for _, first, second in drawn[:half]]
    pairs += [(first, second, 0) for _, first, second in drawn[half:]]
    return rng.sample(pairs, len(pairs))


def _ordered(fn) -> dict[str, Any]:
    positives = [(n, [2 * n, 200 + n], [2 * n + 1] * (1 + n % 7) + [300 + n]) for n in range(40)]
    made = []
    for seed in range(24):
        found = value(fn, list(positives), random.Random(seed))
        expect(not found["changed"], "your function changed the list it was given: work on a copy.")
        made.append(found["result"])
    swapped = [{min(a + b) // 2 for a, b, label in pairs if label} for pairs in made]
    labels = [[label for *_, label in pairs] for pairs in made]
    order = [[min(a + b) // 2 for a, b, _ in pairs] for pairs in made]
    lengths = [[len(a) + len(b) for a, b, _ in pairs] for pairs in made]
    true = [sorted(pair) for _, *pair in positives]
    neighbours = [[sorted([list(a), list(b)]) in true for a, b, _ in pairs] for pairs in made]
    few = fn(positives[:7], random.Random(0))
    return {
        "a label is 0 or 1": {repr(label) for each in labels for label in each} <= {"0", "1"},
        "half of seven pairs are swapped, to within one": sum(label for *_, label in few) in (3, 4),
        "each pair is used once": all(sorted(each) == list(range(40)) for each in order),
        "both texts are neighbours": all(map(all, neighbours)),
        "label 0 is the order of the text": any((a[0] % 2 == 1) == (label == 1) for a, _, label in made[0]),
        "label 1 stands at the swapped pairs": all(
            (a[0] % 2 == 1) == (label == 1) for pairs in made for a, _, label in pairs
        ),
        "half of the pairs are swapped": all(sum(each) == 20 for each in labels),
        "which pairs are swapped is drawn": set.union(*swapped) == set(range(40)) and not set.intersection(*swapped),
        "the same seed gives the same pairs": fn(list(positives), random.Random(0)) == made[0],
        "labels are mixed": all(each != sorted(each) and each != sorted(each, reverse=True) for each in labels),
        "the places of the swapped pairs differ from seed to seed": len(set(map(tuple, labels))) > 1,
        "the pairs are in a random order": all(each != sorted(each) for each in order + lengths),
    }


LABELS = "label 0 is the order of the text, 1 the other: yours stand the other way round."

check_order_pairs = Exercise(
    order_pairs,
    lambda: [()],
    right="Right: the same two texts, and the order alone says which label.",
    observe=_ordered,
    slips=[
        (
            "your function changed the list it was given: work on a copy.",
            "drawn = rng.sample(positives, len(positives)) => rng.shuffle(positives); drawn = positives",
        ),
        ("each pair is used once, swapped or not.", "in drawn[half:]] => in drawn]"),
        (LABELS, "(second, first, 1) => (second, first, 0)", "(first, second, 0) => (first, second, 1)"),
        (
            "the two texts change places, their tokens do not.",
            "(second, first, 1) => (second[::-1], first[::-1], 1)",
        ),
        ("label 1 stands at the swapped pairs, and there alone.", "(second, first, 1) => (first, second, 1)"),
        (
            "a second text is of another pair: here both texts are always neighbours.",
            "(second, first, 1) for _, first, second in drawn[:half] => (drawn[half][2], first, 1) for _, first, "
            "second in drawn[:half]",
        ),
        (
            "half of the pairs should be swapped, whatever `rng` draws: no coin for each.",
            "len(drawn) // 2 => sum(rng.random() < 0.5 for _ in drawn)",
        ),
        (
            "the same pairs are always swapped: shuffle before you halve.",
            "drawn = rng.sample(positives, len(positives)) => drawn = positives",
        ),
        (
            "the same pairs are always swapped: shuffle before you halve.",
            "drawn = rng.sample(positives, len(positives)) => drawn = positives[::2] + positives[1::2]",
        ),
        ("the same seed gave two results: draw from the rng that you are given.", "rng.sample => random.sample"),
        (
            "shuffle: now the label depends on the position in the list, and so does each batch.",
            "return rng.sample(pairs, len(pairs)) => return pairs",
        ),
        (
            "return the pairs in a random order: yours go by length, or by their place in the text.",
            "return rng.sample(pairs, len(pairs)) => return sorted(pairs, key=lambda pair: len(pair[0]) + "
            "len(pair[1]))",
        ),
        (
            "return the pairs in a random order: yours go by length, or by their place in the text.",
            "return rng.sample(pairs, len(pairs)) => return sorted(pairs, key=lambda pair: min(pair[0] + pair[1]))",
        ),
    ],
)


def replaced(input_ids, labels, logits, rng):
    masked = labels != -100
    drawn = logits[masked].softmax(-1).multinomial(1, generator=rng)[:, 0]
    shown = input_ids.clone()
    shown[masked] = drawn
    return shown, shown != torch.where(masked, labels, input_ids)


MASK = 7


def _replaced(fn) -> dict[str, Any]:
    """Rows of tokens 1 and 2, every second one masked; the generator says 1 with 0.8 and 5 with 0.2."""
    original = torch.arange(1600).view(4, 400) % 3 % 2 + 1
    chosen = torch.zeros(4, 400, dtype=torch.bool)
    chosen[:, ::2] = True
    logits = torch.full((4, 400, 6), -30.0)
    logits[..., 1], logits[..., 5] = 1.3863, 0.0
    logits[2:, :, 1], logits[2:, :, 5] = 0.0, 1.3863  # in the last rows the other way round
    draws = [_drawn(fn, original, chosen, logits, seed) for seed in (0, 0, 1)]
    (shown, which), again, other = draws
    words = shown[chosen]
    first, last = ((words == 5).double().view(2, -1).mean(1)).tolist()
    return {
        "no [MASK] is left": not bool((shown == MASK).any()),
        "only masked positions get words of the generator": torch.equal(shown[~chosen], original[~chosen]),
        "words are drawn, not the likeliest taken": len(words.unique()) > 1,
        "words are as frequent as the generator says": set(words.tolist()) <= {1, 5}
        and abs(first - 0.2) < 0.06
        and abs(last - 0.8) < 0.06,
        "a position that was not masked is never replaced": not bool(which[~chosen].any()),
        "a right guess is no replacement": not torch.equal(which.bool(), chosen),
        "replaced is True where what is seen differs from the original": torch.equal(which, shown != original),
        "the same rng gives the same words": torch.equal(shown, again[0]),
        "another rng gives other words": not torch.equal(shown, other[0]),
    }


def _drawn(fn, original: Tensor, chosen: Tensor, logits: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    labels, ids = original.masked_fill(~chosen, IGNORED), original.masked_fill(chosen, MASK)
    found = value(fn, ids, labels, logits, torch.Generator().manual_seed(seed))
    expect(
        not found["changed"], "your function changed what it was given: the batch is used again, so work on a clone."
    )
    result = found["result"]
    pair = isinstance(result, list | tuple) and len(result) == 2 and all(isinstance(each, Tensor) for each in result)
    expect(
        pair
        and all(each.shape == ids.shape for each in result)
        and [each.dtype for each in result] == [ids.dtype, torch.bool],
        "return what is seen and what is replaced, (B, S) each: ids (whole numbers) and bools.",
    )
    return result


DRAW = "logits[masked].softmax(-1).multinomial(1, generator=rng)[:, 0]"
WHICH = "shown != torch.where(masked, labels, input_ids)"

check_replaced = Exercise(
    replaced,
    lambda: [()],
    right="Right: words drawn from the generator, and a right guess is no replacement.",
    observe=_replaced,
    slips=[
        (
            "your function changed what it was given: the batch is used again, so work on a clone.",
            "input_ids.clone() => input_ids",
        ),
        ("[MASK] is still there: the generator's words stand in its place.", "    shown[masked] = drawn\n => "),
        (
            "the likeliest word is taken (argmax): draw from the generator's probabilities.",
            f"{DRAW} => logits[masked].argmax(-1)",
        ),
        (
            "draw with the softmax of the logits as probabilities: yours is flatter or steeper than they say.",
            "logits[masked].softmax(-1) => (logits[masked] / 2).softmax(-1)",
        ),
        (
            "draw with the softmax of the logits as probabilities: yours is flatter or steeper than they say.",
            "logits[masked].softmax(-1) => (logits[masked] * 2).softmax(-1)",
        ),
        ("a right guess counts as the original: compare what is seen with the original token.", f"{WHICH} => masked"),
        (
            "replaced is True where what is seen differs from the original: the label where there is one, else "
            "input_ids.",
            f"{WHICH} => shown == torch.where(masked, labels, input_ids)",
        ),
        (
            "replaced is True where what is seen differs from the original: the label where there is one, else "
            "input_ids.",
            f"{WHICH} => shown != labels",
        ),
        (
            "a right guess counts as the original: compare what is seen with the original token.",
            f"{WHICH} => shown != input_ids",
        ),
        (
            "only masked positions get words of the generator.",
            "masked = labels != -100 => masked = torch.ones_like(labels, dtype=torch.bool)",
            f"{WHICH} => shown != torch.where(labels != -100, labels, input_ids)",
        ),
        ("the same `rng` gives other words: pass generator=rng to multinomial.", ", generator=rng => "),
    ],
    spared={"multinomial(2": "the first of two draws is a draw"},
)


def unpad(input_ids, attention_mask):
    real = attention_mask.bool()
    row = torch.arange(len(input_ids))[:, None].expand_as(input_ids)[real]
    positions = torch.arange(input_ids.size(1)).expand_as(input_ids)[real]
    return input_ids[real], positions, row[:, None] != row[None, :]


def _padded() -> list[tuple]:
    lengths = torch.tensor([5, 2, 3])
    ids = torch.arange(15).view(3, 5) * 7 % 15 + 5
    return [
        (ids, (torch.arange(5) < lengths[:, None]).long()),
        (ids[1:, :4] - 7, torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]])),
    ]


check_unpad = Exercise(
    unpad,
    _padded,
    right="Right: one long row, in which the texts do not see each other.",
    observe=value,
    gives=("ids", "positions", "where not to attend"),
    slips=[
        (
            "padding is still there: keep the tokens whose attention_mask is 1.",
            "real = attention_mask.bool() => real = attention_mask >= 0",
        ),
        (
            "the padding is kept, and the tokens go: 1 means token.",
            "real = attention_mask.bool() => real = attention_mask == 0",
        ),
        (
            "positions run on over the rows: each row begins with position 0 again.",
            "positions = torch.arange(input_ids.size(1)).expand_as(input_ids)[real] => positions = "
            "torch.arange(int(real.sum()))",
        ),
        (
            "positions begin with 0.",
            "torch.arange(input_ids.size(1)).expand => (1 + torch.arange(input_ids.size(1))).expand",
        ),
        (
            "True must stand where a token must *not* attend: it is the other way round.",
            "row[:, None] != row => row[:, None] == row",
        ),
        (
            "a token attends to all tokens of its own row, not only to those before it.",
            "row[:, None] != row[None, :] => (row[:, None] != row[None, :]).logical_or(torch.ones(len(row), len(row), "
            "dtype=torch.bool).triu(1))",
        ),
        ("the third result is bool.", "row[:, None] != row[None, :] => (row[:, None] != row[None, :]).long()"),
    ],
)
