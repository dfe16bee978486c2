"""The checkers of question answering pass right answers and name the mistake of each known wrong one."""

import re
import string

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course import (
    Mistake,
    check_answer_positions,
    check_answer_question,
    check_best_answer,
    check_decide,
    check_most_context,
    check_normalise,
    check_offsets,
    check_question_answering,
    check_question_rows,
)
from bertlab.course.solutions import answers as solution
from bertlab.course.solutions.encoder import Bert
from tests.course.checks.checking import checker_tests

# Normalising


def normalised(text, lower=str.lower, marks="", articles=r"\b(a|an|the)\b"):
    text = "".join(marks if letter in string.punctuation else letter for letter in lower(text))
    return " ".join(re.sub(articles, " ", text).split())


def articles_first(text):
    text = " ".join(word for word in text.lower().split() if word not in ("a", "an", "the"))
    return "".join(letter for letter in text if letter not in string.punctuation)


def articles_before_lower(text):
    return normalised(" ".join(word for word in text.split() if word not in ("a", "an", "the")), articles="none")


NORMALISE = {
    "capitals do not count": lambda text: normalised(text, lower=str),
    "the articles a, an and the": lambda text: normalised(text, articles=r"\bnone\b"),
    "whole words": lambda text: normalised(text, articles="an|a|the"),
    "before the articles": articles_first,
    "this `a` is no article": lambda text: normalised(re.sub(r"\b(a|an|the)\b", " ", text.lower())),
    "make letters small before": articles_before_lower,
    "without a space": lambda text: normalised(text, marks=" "),
    "punctuation does not count": lambda text: " ".join(w for w in text.lower().split() if w not in ("a", "an", "the")),
    "single spaces": lambda text: normalised(text).replace("man at", "man  at"),
    "return a text": lambda text: text.split(),
}

# The head


class Head(nn.Module):
    """Right, unless something is given."""

    width = 2

    def __init__(self, config):
        super().__init__()
        self.config, self.bert = config, Bert(config)
        self.qa_outputs = nn.Linear(config.hidden_size, self.width)

    def forward(self, input_ids, attention_mask, token_type_ids):
        hidden, _ = self.bert(input_ids, attention_mask, token_type_ids)
        logits = self.qa_outputs(hidden)
        return logits[..., 0], logits[..., 1]

    def combined(self, start, end, starts, ends):
        return 0.5 * (F.cross_entropy(start, starts) + F.cross_entropy(end, ends))

    def loss(self, batch):
        start, end = self(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        return self.combined(start, end, batch["start_positions"], batch["end_positions"])


def head(forward=None, combined=None, width=2):
    parts = {"width": width}
    if forward:
        parts["forward"] = lambda self, *inputs: forward(self, *Head.forward(self, *inputs), *self.bert(*inputs))
    if combined:
        parts["combined"] = lambda self, *given: combined(*given)
    return type("Own", (Head,), parts)


QUESTION_ANSWERING = {
    "every token gets two": head(lambda self, s, e, hidden, pooled: self.qa_outputs(pooled).unbind(-1)),
    "start and end are swapped": head(lambda self, s, e, hidden, pooled: (e, s)),
    "the softmax belongs to the loss": head(lambda self, s, e, hidden, pooled: (s.softmax(1), e.softmax(1))),
    "do not compete": head(lambda self, s, e, hidden, pooled: self.qa_outputs(hidden).softmax(-1).unbind(-1)),
    "start logits and end logits": head(lambda self, s, e, hidden, pooled: self.qa_outputs(hidden)),
    "take the two columns apart": head(lambda self, s, e, *_: (s[..., None], e[..., None])),
    "turns H numbers into 2": head(width=3),
    "the sum of both": head(combined=lambda s, e, a, b: F.cross_entropy(s, a) + F.cross_entropy(e, b)),
    "of the start alone": head(combined=lambda s, e, a, b: F.cross_entropy(s, a)),
    "labels are swapped": head(combined=lambda s, e, a, b: (F.cross_entropy(s, b) + F.cross_entropy(e, a)) / 2),
    "position 0 counts too": head(
        combined=lambda s, e, a, b: (F.cross_entropy(s, a, ignore_index=0) + F.cross_entropy(e, b, ignore_index=0)) / 2
    ),
    "return one number": head(
        combined=lambda s, e, a, b: (F.cross_entropy(s, a, reduction="none") + F.cross_entropy(e, b)) / 2
    ),
}

# Positions of an answer


def positions(places, first, begin, stop, behind=0, cut=True, shift=True, whole=True):
    inside = begin >= 0 and places[0][0] <= begin and stop <= places[-1][1]
    if (cut and not inside) or begin < 0:
        return 0, 0
    touched = [n for n, (a, b) in enumerate(places) if (a < stop and b > begin if whole else begin <= a and b <= stop)]
    add = first if shift else 0
    return touched[0] + add, touched[-1] + add + behind


def unbound(places, first, begin, stop):
    if begin < 0:
        return 0, 0
    for token, (left, right) in enumerate(places):
        if left <= begin < right:
            start = token
        if left <= stop < right:
            end = token
    return first + start, first + end


POSITIONS = {
    "your code stopped: cannot access local variable": unbound,
    "the end is the last token itself": lambda *given: positions(*given, behind=1),
    "add `first`": lambda *given: positions(*given, shift=False),
    "takes the whole token": lambda *given: positions(*given, whole=False),
    "goes on behind this window": lambda *given: positions(*given, cut=False),
    "both positions are 0": lambda places, first, begin, stop: (
        (-1, -1) if begin < 0 else positions(places, first, begin, stop)
    ),
    "begins before this window": lambda places, first, begin, stop: positions(
        places, first, max(begin, places[0][0]) if begin >= 0 else -1, stop
    ),
}

# The best span


def pairs(start, end, starts, ends, longest, first=0):
    size = range(len(start))
    return [(i, j) for i in size for j in size if starts[i] and ends[j] and i <= j + first and j - i < longest]


def best(pairs_of=pairs):
    def fn(start, end, starts, ends, longest):
        return max(pairs_of(start, end, starts, ends, longest), key=lambda p: float(start[p[0]] + end[p[1]]))

    return fn


def alone(start, end, starts, ends, longest):
    start, end = start.masked_fill(~starts, -99), end.masked_fill(~ends, -99)
    return int(start.argmax()), int(end.argmax())


def greedy(start, end, starts, ends, longest):
    first = int(start.masked_fill(~starts, -99).argmax())
    allowed = [j for j in range(first, min(len(end), first + longest)) if ends[j]]
    return first, max(allowed, key=lambda j: float(end[j]))


def filled_with_0(start, end, starts, ends, longest):
    near = torch.ones(len(start), len(start)).triu().tril(longest - 1).bool() & starts[:, None] & ends[None]
    scores = (start[:, None] + end[None]) * near
    return divmod(int(scores.argmax()), len(start))


BEST = {
    "ends before it starts": alone,
    "the best start was chosen first": greedy,
    "may be one token": best(lambda s, e, a, b, n: [(i, j) for i, j in pairs(s, e, a, b, n) if i < j]),
    "more than `longest`": best(lambda s, e, a, b, n: pairs(s, e, a, b, n + 1)),
    "three tokens are allowed": best(lambda s, e, a, b, n: [p for p in pairs(s, e, a, b, max(n - 1, 1))]),
    "the question and [CLS] hold no answer": best(lambda s, e, a, b, n: pairs(s, e, [True] * 9, [True] * 9, n)),
    "more context in another window": best(lambda s, e, a, b, n: pairs(s, e, b, b, n)),
    "only `ends` counts": best(lambda s, e, a, b, n: pairs(s, e, a, a, n)),
    "below zero": filled_with_0,
    "the last token itself": lambda *given: (best()(*given)[0], best()(*given)[1] + 1),
    "return a tuple of two whole numbers": lambda *given: list(best()(*given)),
}

# Windows


def context(window, token):
    return min(token - window.start, window.stop - 1 - token) + 0.01 * len(window)


def chosen(score, order=lambda numbers: numbers):
    def fn(windows):
        numbers = order(list(range(len(windows))))
        count = windows[-1].stop
        return [max((n for n in numbers if t in windows[n]), key=lambda n: score(windows[n], t)) for t in range(count)]

    return fn


def by_loop(windows):
    """The right way, as the released code does it: a better score replaces, an equal one does not."""
    result = []
    for token in range(windows[-1].stop):
        top, which = None, None
        for number, window in enumerate(windows):
            if window.start <= token < window.stop and (top is None or context(window, token) > top):
                top, which = context(window, token), number
        result.append(which)
    return result


def anywhere(windows):
    """Windows that do not hold the token compete as well."""
    return [max(range(len(windows)), key=lambda n: context(windows[n], t)) for t in range(windows[-1].stop)]


CONTEXT = {
    "the first one counts": chosen(context, order=lambda numbers: numbers[::-1]),
    "0.01 of the window's length is missing": chosen(lambda w, t: min(t - w.start, w.stop - 1 - t)),
    "stop - 1 - token": chosen(lambda w, t: min(t - w.start, w.stop - t) + 0.01 * len(w)),
    "the smaller number of the two": chosen(lambda w, t: max(t - w.start, w.stop - 1 - t) + 0.01 * len(w)),
    "not even in the window": lambda windows: [0] * windows[-1].stop,
    "token [400] is not even in": anywhere,
    "one number for each": lambda windows: [0],
    "windows count from 0": lambda windows: [number + 1 for number in by_loop(windows)],
    "the last window that holds": chosen(lambda w, t: w.start),
}

# No answer

DECIDE = {
    "the least score of no answer": lambda nulls, spans, t: "" if max(nulls) - max(spans)[0] > t else max(spans)[1],
    "the sign is wrong": lambda nulls, spans, t: "" if min(nulls) - max(spans)[0] > -t else max(spans)[1],
    "the highest score of all windows": lambda nulls, spans, t: "" if min(nulls) - spans[0][0] > t else spans[0][1],
    "of the span with the highest score": lambda nulls, spans, t: max(
        [span for null, span in zip(nulls, spans, strict=True) if null - span[0] <= t], default=(0.0, "")
    )[1],  # each window by itself
    "exactly the threshold": lambda nulls, spans, t: "" if min(nulls) - max(spans)[0] >= t else max(spans)[1],
    "return a text": lambda nulls, spans, t: None,
}


def decided(nulls, spans, threshold):
    score, text = sorted(spans)[-1]
    return text if score + threshold >= min(nulls) else ""


def rows_with(**changed):
    def fn(*given):
        return [row | {name: change(row) for name, change in changed.items()} for row in solution.question_rows(*given)]

    return fn


def wrong_batch(rows, tok):
    return solution.question_batch(rows, tok) | {"token_type_ids": torch.zeros(1)}


test_right, test_mistake = checker_tests(
    {
        check_normalise: normalised,
        check_question_answering: solution.BertForQuestionAnswering,
        check_answer_positions: solution.answer_positions,
        check_best_answer: solution.best_span,
        check_most_context: solution.most_context,
        check_decide: solution.decide,
        check_offsets: solution.offsets,
        check_answer_question: solution.answer_question,
    },
    {
        check_normalise: NORMALISE,
        check_question_answering: QUESTION_ANSWERING,
        check_answer_positions: POSITIONS,
        check_best_answer: BEST,
        check_most_context: CONTEXT,
        check_decide: DECIDE,
        check_offsets: {
            "behind the last character": lambda tok, text: [(a, b - 1) for a, b in solution.offsets(tok, text)],
            "offsets": lambda tok, text: solution.offsets(tok, text)[1:],
        },
        check_answer_question: {
            "threshold": lambda *given: solution.answer_question(*given[:4], -given[4], *given[5:]),
        },
    },
)
test_other_right, _ = checker_tests(
    {
        check_question_answering: Head,
        check_answer_positions: positions,
        check_best_answer: best(),
        check_most_context: by_loop,
        check_decide: decided,
    },
    {},
)


def test_rows_and_batch(capsys):
    check_question_rows(solution.question_rows, solution.question_batch)
    assert capsys.readouterr().out.startswith("Right")


def test_wrong_rows_are_named():
    for words, rows in {
        "most context": rows_with(starts=lambda row: [True] * len(row["places"])),
        "`first` is the position": rows_with(first=lambda row: row["first"] + 1),
        "count in the whole passage": rows_with(places=lambda row: [(0, 1)] * len(row["places"])),
        "a row is [CLS]": rows_with(ids=lambda row: row["ids"][1:]),
    }.items():
        with pytest.raises(Mistake, match=re.escape(words)):
            check_question_rows(rows, solution.question_batch)
    with pytest.raises(Mistake, match="token_type_ids of the batch"):
        check_question_rows(solution.question_rows, wrong_batch)
