"""Every checker passes a right answer and names the mistake of each known wrong one."""

import pytest
import torch

from bertlab import course
from bertlab.course import (
    Mistake,
    check_pair_inputs,
    check_probes,
    check_question_rows,
    check_tagging,
)
from bertlab.course.chapters import EXERCISES

# Pair inputs


def pair(first, second, cls, sep, length):
    ids = [cls, *first, sep, *second, sep]
    types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    pad = [0] * (length - len(ids))
    return ids + pad, types + pad, [1] * len(ids) + pad


def changed_pair(change):
    def wrong(first, second, cls, sep, length):
        parts = {"ids": 0, "types": 1, "mask": 2}
        result = list(pair(first, second, cls, sep, length))
        name, new = change(first, second, cls, sep, length, *result)
        result[parts[name]] = new
        return tuple(result)

    return wrong


PAIR_MISTAKES = {
    "ids already": lambda a, b, cls, sep, n, ids, types, mask: ("ids", ["[CLS]", *ids[1:]]),
    "begin with": lambda a, b, cls, sep, n, ids, types, mask: ("ids", [*ids[1:], 0]),
    "between the two": lambda a, b, cls, sep, n, ids, types, mask: ("ids", ([cls, *a, *b, sep] + [0] * n)[:n]),
    "is missing": lambda a, b, cls, sep, n, ids, types, mask: ("ids", ([cls, *a, sep, *b] + [0] * n)[:n]),
    "in this order": lambda a, b, cls, sep, n, ids, types, mask: ("ids", ([cls, *b, sep, *a, sep] + [0] * n)[:n]),
    "pad input_ids": lambda a, b, cls, sep, n, ids, types, mask: ("ids", [cls, *a, sep, *b, sep]),
    "fill up with 0": lambda a, b, cls, sep, n, ids, types, mask: ("ids", ([cls, *a, sep, *b, sep] + [9] * n)[:n]),
    "first [SEP]": lambda a, b, cls, sep, n, ids, types, mask: (
        "types",
        [0] * (len(a) + 1) + [1] * (len(b) + 2) + [0] * (n - len(a) - len(b) - 3),
    ),
    "last [SEP]": lambda a, b, cls, sep, n, ids, types, mask: (
        "types",
        [0] * (len(a) + 2) + [1] * len(b) + [0] * (n - len(a) - len(b) - 2),
    ),
    "up to the first": lambda a, b, cls, sep, n, ids, types, mask: ("types", [0] * n),
    "padding has": lambda a, b, cls, sep, n, ids, types, mask: ("types", [0] * (len(a) + 2) + [1] * (n - len(a) - 2)),
    "wrong way round": lambda a, b, cls, sep, n, ids, types, mask: ("mask", [1 - m for m in mask]),
    "every real token": lambda a, b, cls, sep, n, ids, types, mask: ("mask", [0, *mask[1:]]),
    "on padding": lambda a, b, cls, sep, n, ids, types, mask: ("mask", [1] * n),
}


@pytest.mark.parametrize("kind", [tuple, list, lambda rows: tuple(map(torch.tensor, rows))])
def test_pair_inputs_right(kind):
    check_pair_inputs(lambda *given: kind(pair(*given)))


@pytest.mark.parametrize("words", PAIR_MISTAKES)
def test_pair_inputs_mistake(words):
    with pytest.raises(Mistake, match=words.replace("[", r"\[")):
        check_pair_inputs(changed_pair(PAIR_MISTAKES[words]))


# Exercises not begun


def stub(*args):
    raise NotImplementedError


BESIDE = {  # what they take beside one function
    check_probes: None,
    check_question_rows: stub,
    check_tagging: stub,
}
CHECKERS = [getattr(course, name) for name in course.__all__ if name.startswith("check_") and name not in EXERCISES]


@pytest.mark.parametrize("check", CHECKERS, ids=lambda check: check.__name__)
def test_an_exercise_not_begun(check):
    beside = [BESIDE[check]] if check in BESIDE else []
    with pytest.raises(Mistake, match="write your code in place of"):
        check(stub, *beside)
