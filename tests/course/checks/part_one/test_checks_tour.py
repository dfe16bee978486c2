"""The checkers of the tour pass right answers and name the mistake of each known wrong one."""

import pytest
import torch

from bertlab.course import Mistake, check_best_span, check_left_of_gap, check_likeliest

# From logits to words


def likeliest(logits, k):
    best = logits.softmax(-1).topk(k)
    return best.indices, best.values


def with_values(change):
    return lambda logits, k: (likeliest(logits, k)[0], change(logits, likeliest(logits, k)[0]))


LIKELIEST_MISTAKES = {
    "still logits": with_values(lambda logits, ids: logits[ids]),
    "over all V logits": with_values(lambda logits, ids: logits[ids].softmax(-1)),
    "sigmoid": with_values(lambda logits, ids: logits[ids].sigmoid()),
    "logarithms": with_values(lambda logits, ids: logits.log_softmax(-1)[ids]),
    "their probabilities are not": with_values(lambda logits, ids: logits.softmax(-1)[ids] / 2),
    "unlikeliest": lambda logits, k: (logits.argsort()[:k], logits.softmax(-1).sort().values[:k]),
    "highest logits": lambda logits, k: (torch.arange(k), logits.softmax(-1)[:k]),
    "stands first": lambda logits, k: tuple(part.flip(0) for part in likeliest(logits, k)),
    "the first of the two": lambda logits, k: likeliest(logits, k)[::-1],
    "each a tensor": lambda logits, k: [part.tolist() for part in likeliest(logits, k)],
    "return k = 3": lambda logits, k: likeliest(logits, k + 1),
}


def test_likeliest_right():
    check_likeliest(likeliest)


@pytest.mark.parametrize("words", LIKELIEST_MISTAKES)
def test_likeliest_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_likeliest(LIKELIEST_MISTAKES[words])


# Left of the gap

LEFT_MISTAKES = {
    "must stay": lambda text: text.split("[MASK]")[0],
    "still whole": lambda text: text,
    "stop at the first": lambda text: text[: text.rindex("[MASK]")] + "[MASK]",
    "should become": lambda text: text.split("[MASK]")[0] + " and [MASK]",
    "itself must stay": lambda text: text.split("[MASK]")[1],
    "return a text": lambda text: text.split("[MASK]"),
}


def test_left_right():
    check_left_of_gap(lambda text: text[: text.index("[MASK]")] + "[MASK]")


@pytest.mark.parametrize("words", LEFT_MISTAKES)
def test_left_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_left_of_gap(LEFT_MISTAKES[words])


# The best span


def span(first=1, least=0, extra=0, reverse=False):
    def fn(start, end, longest):
        count = len(start)
        pairs = [(i, j) for i in range(first, count) for j in range(i + least, min(count, i + longest + extra))]
        pairs += [(i, j) for i in range(first, count) for j in range(1, i)] if reverse else []
        return max(pairs, key=lambda pair: float(start[pair[0]] + end[pair[1]]))

    return fn


def above_zero(start, end, longest):
    """The right span as long as one has a sum above 0."""
    found = span()(start, end, longest)
    return found if start[found[0]] + end[found[1]] > 0 else (0, 0)


def multiplied(start, end, longest):
    pairs = [(i, j) for i in range(1, len(start)) for j in range(i, min(len(start), i + longest))]
    return max(pairs, key=lambda pair: float(start[pair[0]] * end[pair[1]]))


SPAN_MISTAKES = {
    "cannot end before": span(reverse=True),
    "no word": span(first=0),
    "may be one token": span(least=1),
    "more than `longest`": span(extra=1),
    "cannot end before it starts": lambda start, end, longest: (int(start.argmax()), int(end.argmax())),
    "highest sum": lambda start, end, longest: (1, 1),
    "all be below zero": above_zero,
    "the two are added": multiplied,
    "two whole numbers": lambda start, end, longest: int(start.argmax()),
}


@pytest.mark.parametrize("kind", [tuple, list, torch.tensor])
def test_span_right(kind):
    check_best_span(lambda *given: kind(span()(*given)))


@pytest.mark.parametrize("words", SPAN_MISTAKES)
def test_span_mistake(words):
    with pytest.raises(Mistake, match=words):
        check_best_span(SPAN_MISTAKES[words])
