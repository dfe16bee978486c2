"""The checkers of the chapter on what came after BERT pass right answers and name each known mistake."""

import torch
import torch.nn.functional as F

from bertlab.course import (
    check_full_rows,
    check_gated,
    check_order_pairs,
    check_replaced,
    check_rotate,
    check_soft_loss,
    check_unpad,
)
from tests.course.checks.checking import checker_tests

# Full rows


def full_rows(documents, budget, sep, last=True, mark=True, over=0, across=True, counted=True, first=False):
    rows, row = [], []
    for document in documents:
        for number, sentence in enumerate(document):
            new = number == 0 and bool(row)
            mine = [sep] if new and mark else []
            if row and (len(row) + len(mine) * counted + len(sentence) > budget + over or (new and not across)):
                rows.append(row)
                row, mine = [], mine if first else []
            row = row + mine + sentence
    return [*rows, row] if last else rows


def cut_rows(documents, budget, sep):
    words = [token for document in documents for sentence in document for token in sentence]
    return [words[start : start + budget] for start in range(0, len(words), budget)]


# Sentence order


def order_pairs(positives, rng, first=0, share=0.5, shuffled=True):
    half = round(share * len(positives))
    drawn = rng.sample(positives, len(positives)) if shuffled else positives
    pairs = [(b, a, 1 - first) for _, a, b in drawn[:half]] + [(a, b, first) for _, a, b in drawn[half:]]
    return rng.sample(pairs, len(pairs)) if shuffled else pairs


def by_coin(positives, rng):
    return [(b, a, 1) if rng.random() < 0.5 else (a, b, 0) for _, a, b in rng.sample(positives, len(positives))]


def other_seconds(positives, rng):
    others = [b for *_, b in positives[1:] + positives[:1]]
    return [(a, b, number % 2) for number, ((_, a, _), b) in enumerate(zip(positives, others, strict=True))]


def drawn_labels(positives, rng):
    return [(*pair[:2], rng.randint(0, 1)) for pair in order_pairs(positives, rng)]


# Replaced tokens


def replaced(ids, labels, logits, generator, draw=None, everywhere=False, all_masked=False, kept=False):
    masked = labels != -100
    shares = logits.softmax(-1) if draw is None else draw(logits)
    words = shares.flatten(0, 1).multinomial(1, generator=generator).view(ids.shape)
    shown = words if everywhere else torch.where(masked, ids if kept else words, ids)
    original = torch.where(masked, labels, ids)
    return shown, masked if all_masked else shown != original


def in_place(ids, labels, logits, generator):
    masked = labels != -100
    ids[masked] = logits[masked].softmax(-1).multinomial(1, generator=generator)[:, 0]
    return ids, ids != torch.where(masked, labels, ids)


def likeliest(logits):
    return F.one_hot(logits.argmax(-1), logits.size(-1)).float()


def evenly(logits):
    return torch.ones_like(logits)


# The soft loss


def soft(student, teacher, t, power=2, reduction="batchmean", swap=False, warm=(True, True)):
    p, q = ((x / t if w else x).log_softmax(-1) for x, w in zip((student, teacher), warm, strict=True))
    p, q = (q, p) if swap else (p, q)
    return F.kl_div(p, q, reduction=reduction, log_target=True) * t**power


# Rotation


def rotate(x, positions, sign=1, base=10_000.0, sine=True, length=1.0):
    half = x.size(-1) // 2
    angles = sign * positions[..., None] * base ** -(torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    cos, sin = angles.cos(), angles.sin() * sine
    return torch.cat([a * cos - b * sin, b * cos + length * a * sin], -1)


def neighbours(x, positions):
    half = x.size(-1) // 2
    angles = positions[..., None] * 10_000.0 ** -(torch.arange(half) / half)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1).flatten(-2)


# Unpadded rows


def unpad(ids, mask, run_on=False, flip=False, padded=False, together=False):
    real = mask.bool() if not padded else torch.ones_like(mask).bool()
    row = torch.arange(len(ids))[:, None].expand_as(ids)[real]
    positions = torch.arange(ids.size(1)).expand_as(ids)[real]
    apart = row[:, None] != row[None, :]
    apart = torch.zeros_like(apart) if together else ~apart if flip else apart
    return ids[real], torch.arange(len(row)) if run_on else positions, apart


def gated(join):
    return lambda x, up, down: down(join(*up(x).chunk(2, -1)))


test_right_answer_passes, test_mistake_is_named = checker_tests(
    {
        check_full_rows: full_rows,
        check_order_pairs: order_pairs,
        check_replaced: replaced,
        check_soft_loss: soft,
        check_rotate: rotate,
        check_gated: gated(lambda a, b: F.gelu(a) * b),
        check_unpad: unpad,
    },
    {
        check_full_rows: {
            "keep the last row": lambda *args: full_rows(*args, last=False),
            "put `sep` between": lambda *args: full_rows(*args, mark=False),
            "longer than `budget`": lambda *args: full_rows(*args, over=3),
            "ends with its document": lambda *args: full_rows(*args, across=False),
            "cut in two": cut_rows,
            "counts as a token": lambda *args: full_rows(*args, counted=False),
            "has no `sep`": lambda *args: full_rows(*args, first=True),
            "2 would do": lambda documents, budget, sep: full_rows(documents, budget - 1, sep),
        },
        check_order_pairs: {
            "other way round": lambda *args: order_pairs(*args, first=1),
            "of another pair": other_seconds,
            "swap half": lambda *args: order_pairs(*args, share=0),
            "half of them should be": lambda *args: order_pairs(*args, share=0.25),
            "there alone": drawn_labels,
            "whatever `rng` draws": by_coin,
            "shuffle": lambda *args: order_pairs(*args, shuffled=False),
        },
        check_replaced: {
            "argmax": lambda *args: replaced(*args, draw=likeliest),
            "not as frequent": lambda *args: replaced(*args, draw=evenly),
            "only masked positions": lambda *args: replaced(*args, everywhere=True),
            "a right guess counts": lambda *args: replaced(*args, all_masked=True),
            "changed in place": in_place,
            "pass generator=rng": lambda ids, labels, logits, _: replaced(ids, labels, logits, None),
            "[MASK] is still there": lambda *args: replaced(*args, kept=True),
        },
        check_soft_loss: {
            "factor T**2 is missing": lambda *args: soft(*args, power=0),
            "should be T**2": lambda *args: soft(*args, power=1),
            "'batchmean'": lambda *args: soft(*args, reduction="mean"),
            "divide by M": lambda *args: soft(*args, reduction="sum"),
            "wrong way round": lambda *args: soft(*args, swap=True),
            "the teacher's logits": lambda *args: soft(*args, warm=(True, False)),
            "the student's logits": lambda *args: soft(*args, warm=(False, True)),
            "temperature is not used": lambda s, t, _: soft(s, t, 1.0),
            "first choice alone": lambda s, t, _: F.cross_entropy(s, t.argmax(-1)),
        },
        check_rotate: {
            "nothing is turned": lambda x, positions: x,
            "the other way": lambda *args: rotate(*args, sign=-1),
            "pair neighbours": neighbours,
            "sine is missing": lambda *args: rotate(*args, sine=False),
            "begin with 0": lambda x, positions: rotate(x, positions + 1),
            "leaves lengths": lambda *args: rotate(*args, length=2.0),
            "by the numbers in `positions`": lambda x, positions: rotate(x, torch.arange(len(positions))),
            "10000 **": lambda *args: rotate(*args, base=1000.0),
        },
        check_gated: {
            "multiplied, not added": gated(lambda a, b: F.gelu(a) + b),
            "GELU goes to the first": gated(lambda a, b: a * F.gelu(b)),
            "GELU comes before": gated(lambda a, b: F.gelu(a * b)),
            "GELU is missing": gated(lambda a, b: a * b),
            "older gate": gated(lambda a, b: a.sigmoid() * b),
        },
        check_unpad: {
            "padding is still there": lambda *args: unpad(*args, padded=True),
            "run on": lambda *args: unpad(*args, run_on=True),
            "must *not* attend": lambda *args: unpad(*args, flip=True),
            "of its own row": lambda *args: unpad(*args, together=True),
        },
    },
)
