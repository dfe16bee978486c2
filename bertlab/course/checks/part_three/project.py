"""Checkers of a project of one's own: split, near-duplicates, vocabulary, learning curves, intervals, card."""

import math
import random
from collections.abc import Callable, Sequence

import numpy as np

from bertlab.course.checks.base import checker, expect, run
from bertlab.evaluation.card_sections import SECTIONS

Passages = list[tuple[str, str]]  # (document, text)


@checker
def check_split(fn: Callable[[Passages, int], tuple[Passages, Passages]]) -> None:
    """Check fn(passages, every) -> (train, test): passages of every `every`-th document, the first included, are the
    test part; both in their order."""
    passages = [(f"d{n}", f"text {n} {k}") for n in range(9) for k in range(1 + n % 4)]
    passages.append(("d4", "a late one"))  # a document need not stand in one piece
    given = list(passages)
    found = run(fn, given, 3)
    expect(given == passages, "your function changed the list that it was given: make new ones.")
    expect(isinstance(found, tuple) and len(found) == 2, "return (train, test).")
    train, test = map(list, found)
    expect(len(train) + len(test) == len(passages), "a passage is lost or stands twice: each goes to one part.")
    expect(
        test != passages[::3], "this takes every third passage: then most documents are in both parts. Count documents."
    )
    both = {document for document, _ in train} & {document for document, _ in test}
    expect(
        not both, f"document {min(both, default='')!r} is in both parts: decide for each document, not each passage."
    )
    right = [p for p in passages if int(p[0][1:]) % 3 == 0]
    expect(train != right, "the parts are exchanged: every third document is the small part, to test on.")
    expect({d for d, _ in test} == {"d0", "d3", "d6"}, "take every third document, the first one included: d0, d3, d6.")
    expect(test == right and train == [p for p in passages if p not in right], "keep the passages in their order.")
    print("Right: no document is in both parts.")


RUN_WORDS = "these share words, but no run of them in the same order: compare runs."


@checker
def check_shared_runs(fn: Callable[[Sequence[str], Sequence[str], int], list[int]]) -> None:
    """Check fn(train, test, n) -> the numbers of the test texts that share a run of n words with a train text; capitals
    and punctuation do not count."""
    train = ["One two three four five.", "Nine eight seven.", "red green", "blue black white", "tone six ten fourteen"]
    tests = {
        "five four three two one": (False, RUN_WORDS),
        "zero tone six ten fourteen": (True, "the last run of a text is not found: it begins at len(words) - n."),
        "Zero, one TWO: three four!": (True, "capitals and punctuation count for you: take words in small letters."),
        "one two three": (False, "a run of fewer than n words is enough for you: it takes n in a row."),
        "zero three four five": (False, "a slice at the end of a text has fewer than n words: leave it out."),
        "one two three zero four": (False, "the n words must be next to each other."),
        "seven red green blue": (False, "your runs go over the end of a text: take those of each text alone."),
        "One two three four five.": (True, "the same text in both parts is not found."),
        "six two three four five six": (True, "a run in the middle of a text is not found: begin at every word."),
        "none two three fourteen": (False, "you compare letters: fourteen is another word than four."),
        "one six ten four": (False, "you compare letters: four is another word than fourteen."),
    }
    found = run(fn, list(train), list(tests), 4)
    expect(isinstance(found, list), "return a list of numbers.")
    expect(all(isinstance(n, int) for n in found), "return the numbers of the test texts, from 0, not the texts.")
    for number, (right, message) in enumerate(tests.values()):
        expect((number in found) == right, message)
    expect(found == sorted(set(found)), "each number once, in their order.")
    expect(run(fn, ["a b"], ["a b", "b a", "c"], 2) == [0], "n is not always 4: use the n that you are given.")
    print("Right: these are the texts that the training part gives away.")


@checker
def check_vocabulary_size(fn: Callable[[dict[int, float], int, int], int]) -> None:
    """Check fn(tokens_per_word by size, hidden, layers) -> the size with the fewest tokens for each word whose table of
    size x hidden weights is not larger than the layers, 12 x layers x hidden^2."""
    found = {30_000: 1.05, 1000: 1.7, 8000: 1.2, 3000: 1.4, 3072: 1.39}
    size = run(fn, dict(found), 128, 2)
    expect(isinstance(size, int) and size in found, "return one of the sizes.")
    expect(size != 30_000, "the fewest tokens, but the table holds more weights than the layers: keep to the limit.")
    expect(size != 1000, "within the limit, all `layers` together, take the size with the fewest tokens for each "
           "word: that is not the smallest table.")  # fmt: skip
    expect(size != 8000, "8,000 x 128 is more than 12 x 2 x 128 x 128: mind both layers, and the square of hidden.")
    expect(size != 3000, "3,072 x 128 is just 12 x 2 x 128 x 128: not larger, so it is allowed.")
    odd = {1000: 1.5, 2000: 1.6, 3000: 1.55}
    expect(run(fn, odd, 128, 2) == 1000, "take the fewest tokens, not the largest size: a vocabulary can be worse.")
    expect(run(fn, found, 768, 12) == 30_000, "for 12 layers of 768 another size is right: use hidden and layers.")
    print("Right: as few tokens as the model can pay for.")


@checker
def check_still_falling(fn: Callable[[Sequence[float], int], bool]) -> None:
    """Check fn(losses, window) -> whether the mean of the last `window` losses is below that of the `window` before by
    more than two standard errors of the difference."""
    rng = random.Random(0)
    noise = [rng.gauss(0, 0.2) for _ in range(200)]
    cases = [
        ([5 - 0.01 * n + noise[n] / 4 for n in range(200)], True, "a loss that falls by 0.01 a step is not seen."),
        ([3 + noise[n] for n in range(200)], False, "noise alone is called falling: ask for two standard errors."),
        ([3 + 0.01 * n + noise[n] for n in range(200)], False, "a rising loss is called falling: mind the sign."),
        (
            [9 - 0.06 * n for n in range(100)] + [3 + noise[n] for n in range(100)],
            False,
            "a loss that fell long ago and is flat now is called falling: compare the last two windows alone.",
        ),
        (
            [3 + noise[n] / 20 - 0.02 * (n >= 150) for n in range(200)],
            True,
            "a small but clear drop is not seen: divide variances by the number of losses in a window.",
        ),
        (
            [3 + noise[n] - (0.0 if n < 199 else 0.5) for n in range(200)],
            False,
            "one last low loss decides: take means of windows.",
        ),
    ]
    for losses, right, message in cases:
        found = run(fn, list(losses), 50)
        expect(isinstance(found, bool | np.bool_), "return True or False.")
        expect(bool(found) == right, message)
    print("Right: a drop counts if it is larger than what noise makes.")


@checker
def check_interval(fn: Callable[..., tuple[float, float]]) -> None:
    """Check fn(right (N,), asked (N,), rng) -> the 95% percentile interval of right.sum() / asked.sum(), over 1,000
    draws of N documents with replacement."""
    made = np.random.default_rng(1)
    words = made.integers(1, 60, 80)
    right = made.binomial(words, np.where(words > 30, 0.8, 0.2))
    value, kept = right.sum() / words.sum(), (right.copy(), words.copy())
    found = run(fn, right, words, np.random.default_rng(0))
    expect(
        np.array_equal(right, kept[0]) and np.array_equal(words, kept[1]), "your function changed what it was given."
    )
    expect(np.shape(found) == (2,), "return two numbers: the lower and the upper end.")
    low, high = map(float, found)
    expect(all(map(math.isfinite, (low, high))) and low <= high, "return the lower end first.")
    # Before the ends are compared with known ones: ends drawn anew each time may by chance lie at any of them.
    again = run(fn, right, words, np.random.default_rng(0))
    expect(tuple(map(float, again)) == (low, high), "draw from the rng that you are given: same seed, same interval.")
    expect(high - low > 1e-9, "no width: draw with replacement, or every draw is the same documents.")
    draws = np.random.default_rng(2).integers(0, 80, (4000, 80))
    shares = right[draws].sum(1) / words[draws].sum(1)
    known = [
        (
            (right[draws] / words[draws]).mean(1),
            2.5,
            "this is the mean of each document's share: sum over documents first.",
        ),
        (shares, 5, "this is the 90% interval: take the percentiles 2.5 and 97.5."),
        (
            np.random.default_rng(3).binomial(words.sum(), value, 4000) / words.sum(),
            2.5,
            "single answers are drawn: draw documents.",
        ),
        (shares / 1.0 - value, 2.5, "these are distances from the share: return the ends of the interval."),
    ]
    for wrong, edge, message in known:
        ends = np.percentile(wrong, [edge, 100 - edge])
        expect(not np.allclose((low, high), ends, atol=0.006), message)
    expect(abs(low - np.percentile(shares, 25)) > 0.006, "these are quartiles: take the percentiles 2.5 and 97.5.")
    expect(high > np.percentile(shares, 50), "even the upper end is low: np.percentile counts in hundredths, so 97.5.")
    fixed = np.percentile(right[draws].sum(1) / words.sum(), [2.5, 97.5])
    expect(
        not np.allclose((low, high), fixed, atol=0.012), "divide by the questions of the drawn documents, not of all."
    )
    ends = np.percentile(shares, [2.5, 97.5])
    expect(np.allclose((low, high), ends, atol=0.012), f"the interval is about {ends[0]:.2f} to {ends[1]:.2f} here.")
    print("Right: documents are drawn, and the middle 95% of the shares kept.")


@checker
def check_unanswered(fn: Callable[[str], list[str]]) -> None:
    """Check fn(card) -> the names of the nine sections that the card lacks or that have fewer than five words, comments
    not counted, in their order."""
    words = "These are more than five words."
    whole = "\n\n".join(f"## {name}\n\n{words}" for name in SECTIONS)
    expect(run(fn, "# Title\n\n" + whole) == [], "a complete card has nothing unanswered; yours returns something.")
    expect(run(fn, "") == list(SECTIONS), "an empty card lacks all nine, in their order.")
    fewest = whole.replace(f"## Metrics\n\n{words}", "## Metrics\n\nThese are exactly five words")
    expect(run(fn, fewest) == [], "five words are enough: only fewer than five are too few.")
    deeper = whole.replace(f"## Metrics\n\n{words}", f"## Metrics\n\n### Which\n\n{words}")
    expect(run(fn, deeper) == [], "a heading ### ends no section: only a line that begins with `## ` does.")
    between = whole.replace(f"## Metrics\n\n{words}", f"## Metrics\n\n<!-- Which? -->\n{words}\n<!-- Why? -->")
    expect(run(fn, between) == [], "what stands between two comments is an answer: end a comment at the first -->.")
    cases = [
        (f"## Factors\n\n{words}", "## Factors\n\n<!-- Which groups? Which of these did you measure? -->", "Factors",
         "a comment counts as an answer: take comments out first."),
        (f"## Metrics\n\n{words}", "## Metrics\n\n<!-- Which\nmeasures do you report\nhere? -->", "Metrics",
         "a comment of several lines counts as an answer: let the dot match line ends (re.DOTALL)."),
        (f"## Intended use\n\n{words}", "## Intended use\n\nTo be done.", "Intended use",
         "three words are no answer: ask for five."),
        (f"## Training data\n\n{words}\n\n", f"{words}\n\n", "Training data",
         "a section without its heading is not missed: look for all nine names."),
        (f"## {SECTIONS[-1]}\n\n{words}", f"## {SECTIONS[-1]}\n", SECTIONS[-1],
         "the last section is empty, and is not found."),
    ]  # fmt: skip
    for old, new, name, message in cases:
        expect(run(fn, whole.replace(old, new)) == [name], message)
    print("Right: what is not said is named.")
