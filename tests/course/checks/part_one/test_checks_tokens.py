"""Checkers of the chapter on tokens: right answers pass, and the mistake of each known wrong one is named."""

import math
import unicodedata

from bertlab.course import check_clean, check_cut_word, check_likelihood_gain, check_merge_pair
from bertlab.course.solutions.tokenizer import clean, clean_character
from bertlab.tokenizer import SPECIAL_TOKENS, Tokenizer
from tests.course.checks.checking import checker_tests


def spaced(text):
    return "".join(map(clean_character, text))


def strip(text, form="NFD", goes=lambda c: unicodedata.category(c) == "Mn"):
    return "".join(c for c in unicodedata.normalize(form, spaced(text)) if not goes(c)).lower()


def as_ascii(text):
    return text.encode("ascii", "ignore").decode().lower()


CLEAN_MISTAKES = {
    "combining number": lambda text: strip(text, goes=unicodedata.combining),
    "not English vanished": lambda text: as_ascii(spaced(text)),
    "not its alphabet": lambda text: as_ascii(unicodedata.normalize("NFD", spaced(text))),
    "take the text apart": lambda text: strip(text, "NFC"),
    "Hindi": lambda text: strip(text, goes=lambda c: unicodedata.category(c)[0] == "M"),
    "together again": lambda text: unicodedata.normalize("NFC", strip(text)),
    "NFKD": lambda text: strip(text, "NFKD"),
    "still there": lambda text: unicodedata.normalize("NFD", spaced(text)).lower(),
    "capitals stay": lambda text: "".join(
        c for c in unicodedata.normalize("NFD", spaced(text)) if unicodedata.category(c) != "Mn"
    ),
    "begin with clean_character": lambda text: "".join(
        c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn"
    ).lower(),
    "return a string": lambda text: list(strip(text)),
    "should become": lambda text: strip(text).strip() + "!",
    "your code stopped": lambda text: map(clean_character, text).lower(),
    "in place of": lambda text: (_ for _ in ()).throw(NotImplementedError),
}


def cut(word, vocabulary, longest=True, limit=100):
    pieces, start = [], 0
    if len(word) > limit:
        return ["[UNK]"]
    while start < len(word):
        ends = range(len(word), start, -1) if longest else range(start + 1, len(word) + 1)
        for end in ends:
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                break
        else:
            return ["[UNK]"]
        pieces.append(piece)
        start = end
    return pieces


def bare_cut(word, vocabulary):
    return [piece.removeprefix("##") for piece in cut(word, vocabulary)]


def keeps_the_start(word, vocabulary):
    known = next((n for n in range(len(word), 0, -1) if cut(word[:n], vocabulary) != ["[UNK]"]), 0)
    rest = ["[UNK]"] if known < len(word) else []
    return cut(word[:known], vocabulary) + rest


def without_marks(word, vocabulary):
    known = set(vocabulary) | {"##" + piece for piece in vocabulary}
    return cut(word, known)


def endless(word, vocabulary):
    while word not in vocabulary:
        pass
    return [word]


def skips_a_letter(word, vocabulary):
    pieces = cut(word, vocabulary)
    return pieces if len(pieces) == 1 else [pieces[0], *pieces[2:]]


CUT_MISTAKES = {
    "pieces with ##": lambda word, vocabulary: [word] if word in vocabulary else ["[UNK]"],
    "all its letters": lambda word, vocabulary: cut(word, vocabulary - {word}),
    "exactly 100": lambda word, vocabulary: cut(word, vocabulary, limit=99),
    "one letter less": lambda word, vocabulary: cut(word, vocabulary, longest=False),
    "carry ##": bare_cut,
    "just one": keeps_the_start,
    "with its ## alone": without_marks,
    "more than 100": lambda word, vocabulary: cut(word, vocabulary, limit=10**6),
    "does not end": endless,
    "behind its last letter": skips_a_letter,
    "no ##": lambda word, vocabulary: ["##" + word],
    "return a list": lambda word, vocabulary: " ".join(cut(word, vocabulary)),
}


def merge(pieces, first, second, join=lambda first, second: first + second.removeprefix("##"), times=10**6):
    result = []
    for piece in pieces:
        if result and (result[-1], piece) == (first, second) and times:
            result[-1], times = join(first, second), times - 1
        else:
            result.append(piece)
    return result


def in_place(pieces, first, second):
    pieces[:] = merge(pieces, first, second)
    return pieces


def overlapping(pieces, first, second):
    pairs = list(zip(pieces, [*pieces[1:], ""], strict=True))
    return [first + second.removeprefix("##") if pair == (first, second) else pair[0] for pair in pairs]


def in_a_string(pieces, first, second):
    return " ".join(pieces).replace(f"{first} {second}", first + second.removeprefix("##")).split()


MERGE_MISTAKES = {
    "should become": in_a_string,
    "past the last": lambda p, a, b: [p[i + 1] for i in range(len(p))],
    "still inside": lambda p, a, b: merge(p, a, b, lambda a, b: a + b),
    "begins as its first": lambda p, a, b: merge(p, a, b, lambda a, b: (a + b).replace("##", "")),
    "left apart": lambda p, a, b: merge(p, a, b, times=1),
    "build a new one": in_place,
    "lost or doubled": overlapping,
    "return a list": lambda p, a, b: tuple(merge(p, a, b)),
}


def n_ln(n):
    return n * math.log(n) if n else 0.0


def gain(pair, first, second, total):
    after = n_ln(first - pair) + n_ln(second - pair) + n_ln(pair) - n_ln(total - pair)
    return after - n_ln(first) - n_ln(second) + n_ln(total)


def unguarded(pair, first, second, total):
    return gain(pair, first, second, total) + 0 * math.log(first - pair)


GAIN_MISTAKES = {
    "sign": lambda *counts: -gain(*counts),
    "bits": lambda *counts: gain(*counts) / math.log(2),
    "on average": lambda *counts: gain(*counts) / counts[3],
    "popular score": lambda pair, first, second, total: pair / (first * second),
    "one of the pairs": lambda pair, first, second, total: math.log(pair * total / first / second),
    "as frequent as before": lambda pair, first, second, total: pair * math.log(pair * total / first / second),
    "total shrinks": lambda pair, a, b, n: gain(pair, a, b, n) + n_ln(n - pair) - n_ln(n),
    "left the old ones": lambda pair, a, b, n: n_ln(pair) - n_ln(n + pair) + n_ln(n),
    "0 ln 0": unguarded,
    "one number": lambda *counts: None,
    "is nan": lambda *counts: math.nan,
    "yours is": lambda *counts: gain(*counts) + 1,
}

RIGHT = {
    check_clean: strip,
    check_cut_word: cut,
    check_merge_pair: merge,
    check_likelihood_gain: gain,
}
MISTAKES = {
    check_clean: CLEAN_MISTAKES,
    check_cut_word: CUT_MISTAKES,
    check_merge_pair: MERGE_MISTAKES,
    check_likelihood_gain: GAIN_MISTAKES,
}

test_right_answer_passes, test_mistake_is_named = checker_tests(RIGHT, MISTAKES)


def test_cleaning_is_that_of_the_engine():
    normalizer = Tokenizer.from_vocab(SPECIAL_TOKENS, lowercase=True).backend.normalizer
    letters = "".join(map(chr, [*range(0x590), *range(0x1E00, 0x2070), *range(0x3000, 0x3500), *range(0xAC00, 0xD7A4)]))
    for text in ("café ﬁ ß", "हिन्दी", "cafe\u0301", "ΟΔΟΣ", "a\u2028b\x85c\ufffdd\ue000e", *letters):
        if not any(unicodedata.category(c) == "Cn" for c in text):  # may be newer than the engine
            assert clean(text) == normalizer.normalize_str(text), text
