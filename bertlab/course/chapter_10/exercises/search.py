"""The hypothesis alone, recall at k, two lists of scores as one."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from bertlab.corpora.examples import TextExample
from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, random_tensor, value


def hypothesis_only(example):
    return replace(example, text=example.pair, pair=None)


def _alone(fn, example: TextExample) -> dict[str, Any]:
    given = replace(example)
    result = fn(given)
    expect(given == example, "your function changed the example that it was given: return a new one (replace).")
    expect(isinstance(result, TextExample), "return a TextExample.")
    return {name: getattr(result, name) for name in ("text", "pair", "label", "id")}


check_hypothesis_only = Exercise(
    hypothesis_only,
    lambda: [(TextExample("7", "Ann owned a drum.", "The drum of Ann was red.", "neutral"),)],
    right="Right: whoever guesses well from this has not compared anything.",
    observe=_alone,
    slips=[
        (
            "the premise is still there: the control must not see it.",
            "text=example.pair, pair=None => text=example.pair, pair=example.text",
        ),
        ("the premise is still there: the control must not see it.", "text=example.pair, pair=None => pair=None"),
        (
            "there is one text only: pair should be None, not a second copy or an empty text.",
            "pair=None => pair=example.pair",
        ),
        ("there is one text only: pair should be None, not a second copy or an empty text.", "pair=None => pair=''"),
        ("keep the label: that is what the control must guess.", "pair=None => pair=None, label=''"),
        ("keep the id.", "pair=None => pair=None, id=''"),
    ],
)


def recall_at(similarity, right, k):
    best = similarity.topk(k, dim=1).indices  # (Q, k)
    return (best == right[:, None]).any(1).float().mean().item()


def _similarities() -> list[tuple]:
    similarity, right = random_tensor(12, 30), torch.arange(12) * 2
    similarity[torch.arange(5), right[:5]] = torch.tensor([9.0, 9.0, 2.0, 1.5, 1.2])
    return [(similarity, right, 5), (similarity, right, 30), (similarity[:, :9], right % 9, 2), (similarity, right, 1)]


FOUND = "(best == right[:, None]).any(1).float().mean().item()"

check_recall_at = Exercise(
    recall_at,
    _similarities,
    right="Right: the share of questions whose right text is among the first k.",
    observe=value,
    slips=[
        ("that is a count: divide by the number of questions.", ".mean().item() => .sum().item()"),
        (
            "each question counts once, not k times: 1 if its text is among the k, else 0.",
            f"{FOUND} => (best == right[:, None]).float().mean().item()",
        ),
        ("take the k most similar texts, not the most similar one alone.", "topk(k, dim=1) => topk(1, dim=1)"),
        (
            "those are the k least similar texts: sort from the largest.",
            "topk(k, dim=1) => topk(k, dim=1, largest=False)",
        ),
        (
            "the right text of question q is right[q], not number q.",
            "right[:, None] => torch.arange(len(right))[:, None]",
        ),
        ("use the k that is given.", "topk(k, dim=1) => topk(5, dim=1)"),
    ],
)


def fuse(lists):
    ranks = [len(scores) - np.sort(scores).searchsorted(scores) for scores in lists]  # so many have at least its number
    return sum(1 / (60 + rank) for rank in ranks)


def _lists() -> list[tuple]:
    rng = np.random.default_rng(0)
    apart = [([rng.normal(size=9), 1000 * rng.normal(size=9)],), ([rng.normal(size=5) for _ in range(3)],)]
    words = np.array([0.0, 0.4, 0.0, 0.2, 0.0, 0.2, 0.0])  # as of TF-IDF: most texts share no word with the question
    return [*apart, ([words, rng.normal(size=7)],)]


def _fused(fn, lists) -> dict[str, Any]:
    given = [scores.copy() for scores in lists]
    result = np.asarray(fn(given))
    same = all(np.array_equal(mine, scores) for mine, scores in zip(given, lists, strict=True))
    return {"result": torch.as_tensor(1000 * result, dtype=torch.float64), "the scores stay as they are": same}


RANK = "len(scores) - np.sort(scores).searchsorted(scores)"
TEXTS = (
    "argsort says which text is at each rank, not which rank a text has: turn it around, for example with a second "
    "argsort."
)
EQUAL = "texts with equal numbers share a rank, the worst of theirs; yours get different ones, by how they were sorted."

check_fuse = Exercise(
    fuse,
    _lists,
    right="Right: no scale decides, only the order.",
    observe=_fused,
    slips=[
        (
            "that adds the scores: the list with the larger numbers decides alone. Add up ranks.",
            "return sum(1 / (60 + rank) for rank in ranks) => return sum(lists)",
        ),
        (TEXTS, f"{RANK} => (-scores).argsort() + 1"),
        (TEXTS, f"{RANK} => (-scores).argsort()"),
        (EQUAL, f"{RANK} => (-scores).argsort(kind='stable').argsort() + 1"),
        (EQUAL, f"{RANK} => len(scores) - scores.argsort(kind='stable').argsort()"),
        (
            "texts with equal numbers share the worst of their ranks, not the best.",
            f"{RANK} => np.sort(-scores).searchsorted(-scores) + 1",
        ),
        (
            "a rank counts texts, not different numbers: behind two equal texts at rank 3 comes rank 4.",
            f"{RANK} => np.unique(-scores, return_inverse=True)[1] + 1",
        ),
        (
            "rank 1 is the highest score; yours is the lowest.",
            "len(scores) - np.sort(scores).searchsorted(scores) => np.sort(scores).searchsorted(scores, 'right')",
        ),
        ("rank 1 is the highest score; yours is the lowest.", f"{RANK} => scores.argsort().argsort() + 1"),
        ("ranks begin with 1.", "len(scores) - np.sort => len(scores) - 1 - np.sort"),
        ("ranks begin with 1.", f"{RANK} => (-scores).argsort().argsort()"),
        ("add up 1 / (60 + rank), so that a higher number is better.", "sum(1 / (60 + rank) for => sum(rank for"),
        (
            "the sum, not the mean.",
            "return sum(1 / (60 + rank) for rank in ranks) => return sum(1 / (60 + rank) for rank in ranks) / "
            "len(ranks)",
        ),
    ],
)
