"""A split by documents, texts that give the test away, a vocabulary, a loss that still falls, an interval, a card."""

import random
import re
from statistics import fmean, variance
from typing import Any

import numpy as np

from bertlab.course.exercise import Exercise
from bertlab.course.observe import expect, listed, value
from bertlab.evaluation.card_sections import SECTIONS


def my_split(passages, every):
    names = list(dict.fromkeys(document for document, _ in passages))
    held = set(names[::every])
    train = [passage for passage in passages if passage[0] not in held]
    return train, [passage for passage in passages if passage[0] in held]


def _passages() -> list[tuple]:
    """Documents not in the order of their names, and not in one piece."""
    order = (4, 0, 7, 2, 8, 1, 18, 3, 5)  # "d1" stands in "d18" and is another document
    passages = [(f"d{n}", f"text {n} {k}") for n in order for k in range(1 + n % 4)] + [("d7", "a late one")]
    return [(passages, 3), (passages[::-1], 2)]


TRAIN = "train = [passage for passage in passages if passage[0] not in held]"

check_split = Exercise(
    my_split,
    _passages,
    right="Right: no document is in both parts.",
    observe=value,
    gives=("train", "test"),
    slips=[
        (
            "this takes every third passage: then most documents are in both parts. Count documents.",
            "document for document, _ in passages => passage for passage in passages",
            "passage[0] not in held => passage not in held",
            "if passage[0] in held => if passage in held",
        ),
        (
            "the parts are exchanged: every third document is the small part, to test on.",
            "return train, [passage for passage in passages if passage[0] in held] => return [passage for passage in "
            "passages if passage[0] in held], train",
        ),
        ("the first document belongs to the test part: names[::every].", "names[::every] => names[every - 1 :: every]"),
        (
            "documents count in the order in which they come, not sorted by name.",
            "list(dict.fromkeys(document for document, _ in passages)) => sorted({document for document, _ in "
            "passages})",
        ),
        (
            "keep the passages in their order: those of a document need not stand together.",
            f"{TRAIN} => train = sorted(passage for passage in passages if passage[0] not in held)",
        ),
        (
            "a document that comes again later is still one document: each counts once.",
            "names = list(dict.fromkeys(document for document, _ in passages)) => names = [p[0] for n, p in "
            "enumerate(passages) if not n or passages[n - 1][0] != p[0]]",
        ),
    ],
)


def my_shared_runs(train, test, n):
    def runs(text):
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[start : start + n]) for start in range(len(words) - n + 1)}

    known = set().union(*map(runs, train))
    return [number for number, text in enumerate(test) if runs(text) & known]


def _texts() -> list[tuple]:
    train = ["One two three four five.", "Nine eight seven.", "red green", "blue black white", "tone six ten fourteen"]
    train.append("The dog's well-known 2 old tricks.")
    test = [
        "five four three two one", "zero tone six ten fourteen", "Zero, one TWO: three four!", "one two three",
        "zero three four five", "one two three zero four", "seven red green blue", "One two three four five.",
        "six two three four five six", "none two three fourteen", "one six ten four",
        "red green", "dog s well known", "well known old tricks",
    ]  # fmt: skip
    others = ["Maße für Größe", "Мама мыла раму"], ["keine für Größe", "и мама мыла раму"]
    return [(train, test, 4), (["a b"], ["a b c", "b a", "c", "a b c"], 2), (*others, 3)]


RUNS = "return {tuple(words[start : start + n]) for start in range(len(words) - n + 1)}"

check_shared_runs = Exercise(
    my_shared_runs,
    _texts,
    right="Right: these are the texts that the training part gives away.",
    observe=listed,
    slips=[
        (
            "these share words, but no run of them in the same order: compare runs.",
            f"{RUNS} => return {{tuple(sorted(words[start : start + n])) for start in range(len(words) - n + 1)}}",
        ),
        ("the last run of a text is not found: it begins at len(words) - n.", "len(words) - n + 1 => len(words) - n"),
        ("capitals and punctuation count for you: take words in small letters.", "text.lower() => text"),
        (
            "capitals and punctuation count for you: take words in small letters.",
            're.findall(r"\\w+", text.lower()) => text.lower().split()',
        ),
        (
            "a text of fewer than n words has no run: yours takes it whole.",
            "range(len(words) - n + 1) => range(max(1, len(words) - n + 1))",
        ),
        (
            "a slice at the end of a text has fewer than n words: leave it out.",
            "range(len(words) - n + 1) => range(len(words))",
        ),
        (
            "a run of fewer than n words is enough for you: it takes n in a row, next to each other.",
            "start + n]) => start + n - 1])",
        ),
        (
            "a run of fewer than n words is enough for you: it takes n in a row, next to each other.",
            f"{RUNS} => from itertools import combinations; return set(combinations(words, n))",
        ),
        (
            "your runs go over the end of a text: take those of each text alone.",
            "set().union(*map(runs, train)) => runs(' '.join(train))",
        ),
        (
            "you compare letters: fourteen is another word than four.",
            "if runs(text) & known => if any(' '.join(run) in ' '.join(train).lower() for run in runs(text))",
        ),
        (
            "begin a run at every word, not at every n-th.",
            "range(len(words) - n + 1) => range(0, len(words) - n + 1, n)",
        ),
        ("return the numbers of the test texts, from 0, not the texts.", "[number for number => [text for number"),
        (
            "use the n that you are given.",
            "start : start + n] => start : start + 4]",
            "len(words) - n + 1 => len(words) - 4 + 1",
        ),
    ],
)


def my_vocabulary_size(tokens_per_word, hidden, layers):
    allowed = [size for size in tokens_per_word if size * hidden <= 12 * layers * hidden**2]
    return min(allowed, key=tokens_per_word.get)


def _sizes() -> list[tuple]:
    found = {30_000: 1.05, 1000: 1.7, 8000: 1.2, 3000: 1.4, 3072: 1.39}
    near = {3200: 1.1, 3328: 1.05, 2900: 1.4, 2816: 1.5, 393_000: 1.0, 394_000: 0.9}
    return [(found, 128, 2), ({1000: 1.5, 2000: 1.6, 3000: 1.55}, 128, 2), (found, 768, 12), (near, 128, 2)]


ALLOWED = "size * hidden <= 12 * layers * hidden**2"

check_vocabulary_size = Exercise(
    my_vocabulary_size,
    _sizes,
    right="Right: as few tokens as the model can pay for.",
    observe=value,
    slips=[
        (
            "the fewest tokens, but the table holds more weights than the layers: keep to the limit.",
            f" if {ALLOWED} => ",
        ),
        (
            "within the limit take the size with the fewest tokens for each word: that is not the smallest table.",
            "key=tokens_per_word.get => key=lambda size: size",
        ),
        (
            "take the fewest tokens, not the largest size: a vocabulary can be worse.",
            "min(allowed, key=tokens_per_word.get) => max(allowed)",
        ),
        ("a table that is just as large as the layers is allowed: not larger.", "<= 12 => < 12"),
        ("all layers together are the limit, not one of them.", "12 * layers * => 12 *"),
        ("a layer has 12 x hidden^2 weights: mind the square.", f"{ALLOWED} => size <= 12 * layers * hidden**2"),
        ("the fewest tokens for each word, not the most.", "min(allowed => max(allowed"),
    ],
)


def my_still_falling(losses, window):
    before, last = losses[-2 * window : -window], losses[-window:]
    error = ((variance(before) + variance(last)) / window) ** 0.5
    return fmean(before) - fmean(last) > 2 * error


def _losses() -> list[tuple]:
    rng = random.Random(0)
    noise = [rng.gauss(0, 0.2) for _ in range(200)]
    steps = range(200)
    near = [0.1, -0.1, 0.05, -0.05]  # a drop of just above and just below two standard errors
    error = ((variance(near) * 2) / 4) ** 0.5
    curves = [
        ([5 - 0.01 * n + noise[n] / 4 for n in steps], 50),
        ([3 + noise[n] for n in steps], 50),
        ([3 + 0.01 * n + noise[n] for n in steps], 50),
        ([9 - 0.06 * n for n in range(100)] + [3 + noise[n] for n in range(100)], 50),
        ([3 + noise[n] / 20 - 0.02 * (n >= 150) for n in steps], 50),
        ([3 + noise[n] - (0.0 if n < 199 else 0.5) for n in steps], 50),
        ([3 + each for each in near] + [3 - 1.5 * error + each for each in near[::-1]], 4),
        ([3 + each for each in near] + [3 - 2.02 * error + each for each in near], 4),
        ([3 + each for each in near] + [3 - 1.98 * error + each for each in near], 4),
        ([90 * each for each in near] + [90 * (each - 2.1 * error) for each in near], 4),
        ([7.0, 6.5] + [3 + each for each in near] + [3 - 1.98 * error + each for each in near], 4),
        ([3 + each for each in near] + [3 - 2.9 * error + each for each in near], 4),
        ([3 + 9 * each for each in near] + [2.9 - 0.1 * each for each in near], 4),
        ([3 + 0.1 * each for each in near] + [2.9 + 9 * each for each in near], 4),
    ]
    for one, other in ((1, 0.1), (0.1, 1)):  # a noisy window and a quiet one: how their variances are put together
        error = (variance(near) * 1.01 / 4) ** 0.5
        for drop in (1.7, 2.4):
            curves.append(([3 + one * x for x in near] + [3 - drop * error + other * x for x in near], 4))
    return [([curves],)]


def _all_falling(fn, cases) -> dict[str, Any]:
    (curves,) = cases
    given = [list(losses) for losses, _ in curves]
    found = [fn(losses, window) for losses, (_, window) in zip(given, curves, strict=True)]
    expect(
        given == [losses for losses, _ in curves], "your function changed the list that it was given: make a new one."
    )
    expect(all(isinstance(each, bool | np.bool_) for each in found), "return True or False.")
    return {"the answers for the curves of the check": [bool(each) for each in found]}


ERROR = "error = ((variance(before) + variance(last)) / window) ** 0.5"
DROP = "fmean(before) - fmean(last) > 2 * error"

check_still_falling = Exercise(
    my_still_falling,
    _losses,
    right="Right: a drop counts if it is larger than what noise makes.",
    observe=_all_falling,
    slips=[
        ("noise alone is called falling: ask for two standard errors.", "> 2 * error => > 0"),
        ("ask for two standard errors, not for one.", "> 2 * error => > error"),
        ("the standard error is a root: ((v1 + v2) / window) ** 0.5.", " / window) ** 0.5 => / window)"),
        ("ask for two standard errors, not for three.", "> 2 * error => > 3 * error"),
        ("a rising loss is called falling: mind the sign.", f"{DROP} => fmean(last) - fmean(before) > 2 * error"),
        ("a rising loss is called falling: mind the sign.", f"{DROP} => abs(fmean(last) - fmean(before)) > 2 * error"),
        (
            "a loss that fell long ago and is flat now is called falling: compare the last two windows alone.",
            "losses[-2 * window : -window] => losses[:-window]",
        ),
        (
            "a small but clear drop is not seen: divide variances by the number of losses in a window.",
            " / window) ** 0.5 => ) ** 0.5",
        ),
        (
            "variances divide by n - 1 here: these losses are a sample (statistics.variance, not pvariance).",
            "variance(before) + variance(last) => pvariance(before) + pvariance(last)",
            "def my_still_falling(losses, window): => from statistics import pvariance\ndef my_still_falling(losses, "
            "window):",
        ),
        ("one last low loss decides: take means of windows.", "fmean(last) > => losses[-1] >"),
        *(
            ("both windows have noise: add their variances.", f"variance(before) + variance(last) => 2 * {both}")
            for one, other in [("variance(before)", "variance(last)")]
            for both in (one, other, f"max({one}, {other})", f"({one} * {other}) ** 0.5")
        ),
        (
            "the variances add up, not the errors.",
            f"{ERROR} => error = (variance(before) / window) ** 0.5 + (variance(last) / window) ** 0.5",
        ),
    ],
    spared={">= 2 * error": "no curve falls by exactly two standard errors"},
)


def my_unanswered(card):
    card = re.sub(r"<!--.*?-->", "", card, flags=re.DOTALL)
    parts = re.split(r"^## +(.+?) *$", card, flags=re.M)
    written = dict(zip(parts[1::2], parts[2::2], strict=True))
    return [name for name in SECTIONS if len(written.get(name, "").split()) < 5]


WORDS = "These are more than five words."


def _cards() -> list[tuple]:
    whole = "\n\n".join(f"## {name}\n\n{WORDS}" for name in SECTIONS)
    changes = [
        ("", ""),
        (f"## Metrics\n\n{WORDS}", "## Metrics\n\nThese are exactly five words"),
        (f"## Metrics\n\n{WORDS}", f"## Metrics\n\n### Which\n\n{WORDS}"),
        (f"## Metrics\n\n{WORDS}", f"## Metrics\n\n<!-- Which? -->\n{WORDS}\n<!-- Why? -->"),
        (f"## Factors\n\n{WORDS}", f"<!--\n## Factors\n\n{WORDS}\n-->"),
        ("## Metrics", "### Metrics"),
        (f"## Metrics\n\n{WORDS}", "## Metrics\n\nSee https://example.org/a-long-report."),
        (f"## Factors\n\n{WORDS}", "## Factors\n\n<!-- Which groups? Which of these did you measure? -->"),
        (f"## Metrics\n\n{WORDS}", "## Metrics\n\n<!-- Which\nmeasures do you report\nhere? -->"),
        (f"## Metrics\n\n{WORDS}", "## Metrics\n\nConsiderable misclassification everywhere, unfortunately."),
        (f"## Metrics\n\n{WORDS}", "## Metrics\n\nF1 of\nF1 of\nF1"),
        (f"## Intended use\n\n{WORDS}", "## Intended use\n\nTo be done."),
        (f"## Training data\n\n{WORDS}\n\n", f"{WORDS}\n\n"),
        (f"## {SECTIONS[-1]}\n\n{WORDS}", f"## {SECTIONS[-1]}\n"),
    ]
    backwards = "\n".join(f"## {name}" for name in SECTIONS[::-1])
    return [("",), (backwards,), (whole,), *(("# Title\n\n" + whole.replace(old, new),) for old, new in changes)]


check_unanswered = Exercise(
    my_unanswered,
    _cards,
    right="Right: what is not said is named.",
    observe=listed,
    slips=[
        (
            "a comment counts as an answer: take comments out first.",
            'card = re.sub(r"<!--.*?-->", "", card, flags=re.DOTALL) => pass',
        ),
        (
            "a comment of several lines counts as an answer: let the dot match line ends (re.DOTALL).",
            ", card, flags=re.DOTALL) => , card)",
        ),
        ("what stands between two comments is an answer: end a comment at the first -->.", "<!--.*?--> => <!--.*-->"),
        (
            "name them in the order of SECTIONS, not of the card.",
            "for name in SECTIONS => for name in sorted(SECTIONS, key=[*written, *SECTIONS].index)",
        ),
        ("four words are too few: ask for five.", "< 5 => < 4"),
        (
            "words are counted, not letters.",
            'len(written.get(name, "").split()) < 5 => len(written.get(name, "")) < 25',
        ),
        ("three words are no answer: ask for five.", "< 5 => < 1"),
        ("five words are enough: only fewer than five are too few.", "< 5 => <= 5"),
        (
            "a section without its heading is missed: look for all nine names.",
            "for name in SECTIONS if len(written.get => for name in written if len(written.get",
        ),
        ("a heading ### ends no section: only a line that begins with `## ` does.", '"^## + => "^##+ +'),
        ("a heading may stand in the first line of a card: yours misses it.", '"^## + => "\\n## +'),
    ],
)


def my_interval(right, asked, rng):
    drawn = rng.integers(0, len(right), (1000, len(right)))
    shares = right[drawn].sum(1) / asked[drawn].sum(1)
    low, high = np.percentile(shares, [2.5, 97.5])
    return float(low), float(high)


def _counted() -> tuple[np.ndarray, np.ndarray]:
    made = np.random.default_rng(1)
    asked = made.integers(1, 60, 80)
    return made.binomial(asked, np.where(asked > 30, 0.8, 0.2)), asked


def _ends(fn) -> dict[str, Any]:
    """Facts about the two ends, with room for another order of drawing."""
    right, asked = _counted()
    kept = right.copy(), asked.copy()
    found = fn(right, asked, np.random.default_rng(0))
    expect(np.shape(found) == (2,), "return two numbers: the lower and the upper end.")
    low, high = map(float, found)
    draws = np.random.default_rng(2).integers(0, 80, (4000, 80))
    ends = np.percentile(right[draws].sum(1) / asked[draws].sum(1), [2.5, 97.5])
    again = tuple(map(float, fn(right, asked, np.random.default_rng(0))))
    return {
        "what was given stays as it is": np.array_equal(right, kept[0]) and np.array_equal(asked, kept[1]),
        "the lower end comes first": bool(np.isfinite(low) and np.isfinite(high) and low <= high),
        "the same seed gives the same interval": again == (low, high),
        "another seed gives another interval": again != tuple(map(float, fn(right, asked, np.random.default_rng(3)))),
        "the interval has a width": high - low > 1e-9,
        "the lower end (in steps of 0.024 from where it lies)": int(round((low - ends[0]) / 0.024)),
        "the upper end (in steps of 0.024 from where it lies)": int(round((high - ends[1]) / 0.024)),
        "of two documents, with 0 of 2 and 6 of 6 right, the interval goes from 0 to 1": bool(
            np.allclose(fn(np.array([0, 6]), np.array([2, 6]), np.random.default_rng(0)), (0, 1))
        ),
        "the interval is as wide as that of documents": bool(abs((high - low) / (ends[1] - ends[0]) - 1) < 0.12),
    }


SHARES, PERCENTS = "right[drawn].sum(1) / asked[drawn].sum(1)", "[2.5, 97.5]"
WIDTH = "the interval has another width: draw documents, not single answers, and take percentiles 2.5 and 97.5."

check_interval = Exercise(
    my_interval,
    lambda: [()],
    right="Right: documents are drawn, and the middle 95% of the shares kept.",
    observe=_ends,
    slips=[
        (
            "no width: draw with replacement, or every draw is the same documents.",
            "rng.integers(0, len(right), (1000, len(right))) => rng.permuted(np.tile(np.arange(len(right)), (1000, "
            "1)), axis=1)",
        ),
        (
            "this is the mean of each document's share: sum over documents first.",
            f"{SHARES} => (right[drawn] / asked[drawn]).mean(1)",
        ),
        (WIDTH, f"{PERCENTS} => [25, 75]"),
        (WIDTH, f"{PERCENTS} => [5, 95]"),
        ("even the upper end is low: np.percentile counts in hundredths, so 97.5.", f"{PERCENTS} => [0.025, 0.975]"),
        (
            WIDTH,
            f"{SHARES} => rng.binomial(asked.sum(), right.sum() / asked.sum(), 1000) / asked.sum()",
        ),
        (
            "these are distances from the share: return the ends of the interval.",
            f"{SHARES} => {SHARES} - right.sum() / asked.sum()",
        ),
        ("divide by the questions of the drawn documents, not of all.", "asked[drawn].sum(1) => asked.sum()"),
        (
            "draw from the rng that you are given: same seed, same interval.",
            "rng.integers => np.random.default_rng().integers",
        ),
        ("return the lower end first.", "float(low), float(high) => float(high), float(low)"),
    ],
    spared={"off by one: drawn": "how many draws there are is free, and one document of 80 weighs little"},
)
