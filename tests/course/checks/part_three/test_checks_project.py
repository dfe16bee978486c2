"""The checkers of the project chapter pass right answers and name each known mistake."""

import re
from itertools import pairwise
from statistics import fmean, variance

import numpy as np

from bertlab.course import (
    check_interval,
    check_shared_runs,
    check_split,
    check_still_falling,
    check_unanswered,
    check_vocabulary_size,
)
from bertlab.evaluation.card_sections import SECTIONS, unanswered
from tests.course.checks.checking import checker_tests

# The split


def split(passages, every, first=0, exchanged=False):
    documents = list(dict.fromkeys(document for document, _ in passages))
    held = set(documents[first::every])
    train = [p for p in passages if p[0] not in held]
    test = [p for p in passages if p[0] in held]
    return (test, train) if exchanged else (train, test)


def by_runs(passages, every):
    """Count a document anew where it goes on later."""
    number, parts = -1, ([], [])
    for before, one in pairwise([(None, ""), *passages]):
        number += before[0] != one[0]
        parts[number % every == 0].append(one)
    return parts


# Near-duplicates


def runs(text, n, words=lambda text: re.findall(r"\w+", text.lower())):
    found = words(text)
    return {tuple(found[i : i + n]) for i in range(len(found) - n + 1)}


def shared(train, test, n, runs=runs):
    known = set().union(*(runs(text, n) for text in train))
    return [number for number, text in enumerate(test) if runs(text, n) & known]


def tails(text, n):
    """Runs at every word, at the end of the text too short ones."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + n]) for i in range(len(words))}


def blocks(train, test, n):
    """A train text is cut into runs that do not overlap."""
    words = [re.findall(r"\w+", text.lower()) for text in train]
    known = {tuple(row[i : i + n]) for row in words for i in range(0, len(row) - n + 1, n)}
    return [number for number, text in enumerate(test) if runs(text, n) & known]


def letters(train, test, n):
    joined = [" ".join(re.findall(r"\w+", text.lower())) for text in test]
    known = {" ".join(run) for text in train for run in runs(text, n)}
    return [number for number, text in enumerate(joined) if any(run in text for run in known)]


# Learning curves


def falling(losses, window, errors=2.0, per=True):
    before, last = losses[-2 * window : -window], losses[-window:]
    error = ((variance(before) + variance(last)) / (window if per else 1)) ** 0.5
    return fmean(before) - fmean(last) > errors * error


# Intervals


def interval(right, words, rng, edge=2.5, statistic=lambda r, w: r.sum(1) / w.sum(1), size=None, replace=True):
    draws = np.array([rng.choice(len(right), size or len(right), replace) for _ in range(1000)])
    return tuple(np.percentile(statistic(right[draws], words[draws]), [edge, 100 - edge]))


def by_words(right, words, rng):
    shares = rng.binomial(words.sum(), right.sum() / words.sum(), 1000) / words.sum()
    return tuple(np.percentile(shares, [2.5, 97.5]))


# Model cards


def bare(card):
    return [name for name in SECTIONS if f"## {name}" not in card]


def one_line(card):
    return unanswered(re.sub(r"<!--.*?-->", "", card).replace("<!--", "").replace("-->", ""))


RIGHT = {
    check_split: split,
    check_shared_runs: shared,
    check_vocabulary_size: lambda found, hidden, layers: min(
        (size for size in found if size <= 12 * layers * hidden), key=found.get
    ),
    check_still_falling: falling,
    check_interval: interval,
    check_unanswered: unanswered,
}
MISTAKES = {
    check_split: {
        "every third passage": lambda p, n: ([x for i, x in enumerate(p) if i % n], p[::n]),
        "in both parts": by_runs,
        "the first one included": lambda p, n: split(p, n, first=1),
        "exchanged": lambda p, n: split(p, n, exchanged=True),
        "lost or stands twice": lambda p, n: (p, split(p, n)[1]),
        "in their order": lambda p, n: (split(p, n)[0][::-1], split(p, n)[1]),
        "changed the list": lambda p, n: split(p, n) if p.sort(key=lambda x: x[1]) else ([], []),
    },
    check_shared_runs: {
        "share words, but no run": lambda a, b, n: shared(a, b, n, lambda t, n: set(re.findall(r"\w+", t.lower()))),
        "capitals and punctuation": lambda a, b, n: shared(a, b, n, lambda t, n: runs(t, n, str.split)),
        "fewer than n words": lambda a, b, n: shared(a, b, n - 1),
        "over the end of a text": lambda a, b, n: shared([" ".join(a)], b, n),
        "same text in both parts": lambda a, b, n: [i for i in shared(a, b, n) if b[i] not in a],
        "begin at every word": blocks,
        "numbers of the test texts": lambda a, b, n: [b[i] for i in shared(a, b, n)],
        "n is not always 4": lambda a, b, n: shared(a, b, 4),
        "you compare letters: fourteen": letters,
        "you compare letters: four is": lambda a, b, n: (
            letters(b, a, n)
            and [
                i
                for i, t in enumerate(b)
                if any(" ".join(run) in " ".join(re.findall(r"\w+", w.lower())) for run in runs(t, n) for w in a)
            ]
        ),
        "the last run of a text": lambda a, b, n: shared(a, b, n, lambda t, n: runs(t.rpartition(" ")[0], n)),
        "a slice at the end": lambda a, b, n: shared(a, b, n, tails),
    },
    check_vocabulary_size: {
        "more weights than the layers": lambda found, h, n: max(found),
        "all `layers` together": lambda found, h, n: min((s for s in found if s <= 12 * h), key=found.get),
        "smallest table": lambda found, h, n: min(found),
        "the square of hidden": lambda found, h, n: min((s for s in found if s <= 8000), key=found.get),
        "is just": lambda found, h, n: min((s for s in found if s < 12 * n * h), key=found.get),
        "not the largest size": lambda found, h, n: max(s for s in found if s <= 12 * n * h),
        "use hidden and layers": lambda found, h, n: min((s for s in found if s <= 3072), key=found.get),
    },
    check_still_falling: {
        "noise alone": lambda x, n: falling(x, n, errors=-0.2) and fmean(x[-n:]) < fmean(x) + 1,
        "mind the sign": lambda x, n: falling(x, n) or falling([-y for y in x], n),
        "fell long ago": lambda x, n: fmean(x[:n]) - fmean(x[-n:]) > 0.2,
        "divide variances": lambda x, n: falling(x, n, per=False),
        "True or False": lambda x, n: fmean(x[-n:]),
    },
    check_interval: {
        "with replacement": lambda r, w, g: interval(r, w, g, replace=False),
        "mean of each document's share": lambda r, w, g: interval(r, w, g, statistic=lambda a, b: (a / b).mean(1)),
        "90% interval": lambda r, w, g: interval(r, w, g, edge=5),
        "single answers": by_words,
        "counts in hundredths": lambda r, w, g: np.percentile(
            [np.sum(r[i]) / np.sum(w[i]) for i in g.integers(0, len(r), (1000, len(r)))], [0.025, 0.975]
        ),
        "of the drawn documents": lambda r, w, g: interval(r, w, g, statistic=lambda a, b: a.sum(1) / w.sum()),
        "lower end first": lambda r, w, g: interval(r, w, g)[::-1],
        "from the rng": lambda r, w, g: interval(r, w, np.random.default_rng()),
        "distances": lambda r, w, g: tuple(np.array(interval(r, w, g)) - r.sum() / w.sum()),
    },
    check_unanswered: {
        "comment counts": lambda card: unanswered(card.replace("<!--", "").replace("-->", "")),
        "several lines": one_line,
        "five words are enough": lambda card: unanswered(card.replace("exactly ", "")),
        "ends no section": lambda card: unanswered(re.sub("^###", "##", card, flags=re.M)),
        "between two comments": lambda card: unanswered(re.sub("<!--.*-->", "", card, flags=re.S)),
        "three words": lambda card: [n for n in unanswered(card.replace("To be done.", "It is still to be done."))],
        "not missed": lambda card: [n for n in unanswered(card) if f"## {n}" in card] if card else list(SECTIONS),
        "has nothing unanswered": lambda card: list(SECTIONS),
        "lacks all nine": lambda card: sorted(unanswered(card)),
        "the last section": lambda card: [n for n in unanswered(card) if n != SECTIONS[-1] or not card],
    },
}

test_right_answer_passes, test_mistake_is_named = checker_tests(RIGHT, MISTAKES)
