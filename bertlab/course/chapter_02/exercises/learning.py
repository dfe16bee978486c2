"""What learns a vocabulary: merge a pair, and the gain of a merge."""

from math import log

from bertlab.course.exercise import Exercise
from bertlab.course.observe import listed


def merge_pair(pieces, first, second):
    result = []
    for piece in pieces:
        if result and (result[-1], piece) == (first, second):
            result[-1] = first + second.removeprefix("##")  # another piece than `first`: it cannot merge again
        else:
            result.append(piece)
    return result


PAIRS = [
    ("t ##h ##e", "t", "##h"),
    ("o ##t ##h ##e ##r", "##t", "##h"),
    ("b ##a ##n ##a ##n ##a", "##a", "##n"),
    ("b ##a ##d ##a ##n", "##a", "##n"),  # the first ##a stays
    ("z ##z ##z ##z", "##z", "##z"),
    ("w ##e ##t", "##t", "##e"),
    ("c ##a ##b", "a", "##b"),
    ("a", "a", "##b"),
    ("c ### ##c", "c", "###"),  # # is a letter too
]


def _merged_once(pieces, first, second):
    at = next((n for n in range(len(pieces) - 1) if pieces[n : n + 2] == [first, second]), None)
    return list(pieces) if at is None else [*pieces[:at], first + second.removeprefix("##"), *pieces[at + 2 :]]


def _overlapping(pieces, first, second):
    pairs = zip(pieces, [*pieces[1:], ""], strict=True)
    return [first + second.removeprefix("##") if pair == (first, second) else pair[0] for pair in pairs]


check_merge_pair = Exercise(
    merge_pair,
    lambda: [(text.split(), first, second) for text, first, second in PAIRS],
    right="Right: every pair is merged once, from left to right.",
    observe=listed,
    slips=[
        (
            "your loop reads past the last piece, which has none to its right.",
            "for piece in pieces:\n => for n, piece in enumerate(pieces):\n        pieces[n + 1]\n",
        ),
        ("the ## of the second piece is still inside: t and ##h give th.", '.removeprefix("##") => '),
        (
            "only the ## in front is a mark of the piece: the letter # may follow it (removeprefix, not strip).",
            'removeprefix("##") => lstrip("#")',
        ),
        (
            "the merged piece begins as its first part does: ##t and ##h give ##th.",
            'first + second.removeprefix("##") => (first + second).replace("##", "")',
        ),
        ("a pair was left apart: merge every one, not only the first.", _merged_once),
        ("letters were doubled: go on behind a pair, its second piece is used up.", _overlapping),
        ("letters were lost: the pieces that merge with none stay as they are.", "result.append(piece) => pass"),
        (
            "compare whole pieces, not text: in c ##a ##b there is no a.",
            lambda p, a, b: " ".join(p).replace(f"{a} {b}", a + b.removeprefix("##")).split(),
        ),
    ],
)


def likelihood_gain(pair, first, second, total):
    before = n_ln_n(first) + n_ln_n(second) - n_ln_n(total)
    after = n_ln_n(first - pair) + n_ln_n(second - pair) + n_ln_n(pair) - n_ln_n(total - pair)
    return after - before


def n_ln_n(n):
    return n * log(n) if n > 0 else 0.0


NOTHING_LEFT = "where a piece is used up its count is 0, and 0 ln 0 counts as 0: treat it apart."

check_likelihood_gain = Exercise(
    likelihood_gain,
    lambda: [(30, 100, 50, 1000), (5, 40, 200, 900), (7, 60, 7, 400), (12, 12, 12, 300)],
    right="Right: that is how much ln p of the text rises when the two become one.",
    slips=[
        ("the sign is wrong: take ln p after the merge, minus ln p before.", "after - before => before - after"),
        ("this is in bits: take the natural logarithm.", "after - before => (after - before) / log(2)"),
        (
            "this is the gain of one piece on average: leave out the division by the total.",
            "after - before => (after - before) / total",
        ),
        (
            "this is the popular score, pair / (first x second), not the gain in likelihood.",
            "after - before => pair / (first * second)",
        ),
        (
            "this is the gain for one of the pairs: every one of them counts.",
            "after - before => log(pair * total / (first * second))",
        ),
        (
            "this is as if the two pieces stayed as frequent as before: they now occur `pair` times less, and there "
            "are `pair` pieces fewer.",
            "after - before => pair * log(pair * total / (first * second))",
        ),
        (
            "the total shrinks too: the text has `pair` pieces fewer than before.",
            "n_ln_n(total - pair) => n_ln_n(total)",
        ),
        (
            "you counted the new piece and left the old ones as they were: each pair uses up one first and one second.",
            "n_ln_n(first - pair) + n_ln_n(second - pair) => n_ln_n(first) + n_ln_n(second)",
            "total - pair => total + pair",
        ),
        (
            NOTHING_LEFT,
            "n_ln_n(first - pair) => (first - pair) * log(first - pair)",
            "n_ln_n(second - pair) => (second - pair) * log(second - pair)",
        ),
        (
            NOTHING_LEFT,
            lambda pair, first, second, total: (
                likelihood_gain(pair, first, second, total) if second > pair else float("nan")
            ),
        ),
    ],
)
