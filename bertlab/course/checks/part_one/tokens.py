"""Checkers of the chapter on tokens: cleaning, longest match, tokenizer, merging a pair, gain in likelihood."""

import math
import unicodedata
from collections.abc import Callable
from typing import Any

from tokenizers.normalizers import BertNormalizer

from bertlab.course.checks.base import Mistake, checker, expect, run
from bertlab.tokenizer import Tokenizer
from bertlab.vocabulary import SPECIAL_TOKENS


@checker
def check_clean(fn: Callable[[str], str]) -> None:
    """Check fn(text) -> the text cleaned as an uncased BERT does it, without accents and in small letters."""
    library = BertNormalizer()
    for text in (
        "café",
        "Zürich",
        "naïve façade",
        "cafe\u0301",
        "ß ø",
        "ﬁ x²",
        "हिन्दी",
        "कुत्ता",
        "한국",
        "My\tDOG",
        "a\x00b",
        "我爱",
    ):
        result = run(fn, text)
        expect(isinstance(result, str), f"return a string, not {type(result).__name__}.")
        if result != library.normalize_str(text):
            raise Mistake(_why_cleaned(result, text, library.normalize_str(text)))
    print("Right: every text is cleaned as the library does it.")


def _without_marks(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) != "Mn")


def _why_cleaned(result: str, text: str, right: str) -> str:
    spaced = BertNormalizer(lowercase=False, strip_accents=False).normalize_str(text)
    parts = unicodedata.normalize("NFD", spaced)
    known = {
        spaced.encode("ascii", "ignore").decode(): "letters that are not English vanished: take away marks only, never "
        "a letter.",
        parts.encode(
            "ascii", "ignore"
        ).decode(): "letters that have no accent, such as ß or 我, vanished: the category "
        "of each character decides, not its alphabet.",
        _without_marks(spaced): "é is one character and no mark: take the text apart first, "
        'unicodedata.normalize("NFD", text).',
        "".join(c for c in parts if unicodedata.category(c)[0] != "M"): "signs that take up room (category Mc, a vowel "
        "in Hindi) were removed too: only Mn, marks without a width of their own, may go.",
        "".join(c for c in parts if not unicodedata.combining(c)): "some marks of category Mn have the combining "
        "number 0, such as vowels in Hindi: ask for the category.",
        unicodedata.normalize("NFC", right): "you put the characters together again (NFC): BERT leaves them apart, and "
        "its vocabulary holds the parts.",
        _without_marks(unicodedata.normalize("NFKD", spaced)): "NFKD also rewrites characters such as ﬁ and ²: NFD "
        "takes apart and changes nothing else.",
        parts: "the letters are taken apart, but the marks (category Mn) are still there.",
        _without_marks(
            unicodedata.normalize("NFD", text)
        ): "begin with clean_character, for each character of the text.",
    }
    if result.lower() == right:
        return f"capitals stay in {result!r}: small letters are the last step."
    small = {wrong.lower(): message for wrong, message in known.items()}
    return small.get(result.lower(), f"{text!r} should become {right!r}; yours is {result!r}.")


class _Watched(frozenset):
    """A vocabulary that notices when it is asked without end."""

    asked = 0

    def __contains__(self, piece: object) -> bool:
        self.asked += 1
        expect(
            self.asked < 20_000, "your loop does not end: after each piece go on behind it, and stop at its failure."
        )
        return super().__contains__(piece)


VOCABULARY = "a un una una## ##aff ##ffa ##ble ##able ##ab ##le able play ##ing ##i ##n ##g s ##s x ##x [UNK]".split()


@checker
def check_cut_word(fn: Callable[[str, frozenset[str]], list[str]]) -> None:
    """Check fn(word, vocabulary) -> the pieces of greedy longest match, ["[UNK]"] where there is no way through."""
    cases = {
        "play": ["play"],
        "playing": ["play", "##ing"],
        "unaffable": ["una", "##ffa", "##ble"],
        "plays": ["play", "##s"],
        "singing": ["s", "##ing", "##ing"],
        "unable": ["una", "##ble"],
        "playq": ["[UNK]"],
        "qplay": ["[UNK]"],
        "playa": ["[UNK]"],
        "x" * 100: ["x", *["##x"] * 99],
        "x" * 101: ["[UNK]"],
    }
    for word, right in cases.items():
        result = run(fn, word, _Watched(VOCABULARY))
        expect(isinstance(result, list | tuple), "return a list of pieces.")
        if list(result) != right:
            raise Mistake(_why_cut(word, list(result), right))
    print("Right: from the left, the longest piece each time, [UNK] where no way leads through.")


def _why_cut(word: str, result: list[str], right: list[str]) -> str:
    bare = [piece.removeprefix("##") for piece in result]
    if len(word) > 100 and right == ["[UNK]"]:
        return "a word of more than 100 characters is [UNK] as a whole: do not try to cut it."
    if right == ["[UNK]"]:
        if "##a" in result or "a" in result[1:]:
            return "##a is not in the vocabulary, only a is: inside a word a piece counts with its ## alone."
        return f"where a part of a word fits nothing, the whole word is [UNK], just one: for {word} yours is {result}."
    if result == ["[UNK]"]:
        return _why_unknown(word, right)
    if len(result) > 1 and not any(piece.startswith("##") for piece in result):
        return "pieces inside a word carry ##: look them up, and return them, with it."
    if result and result[0].startswith("##"):
        return "the first piece of a word has no ##."
    if len(result) > len(right) and "".join(bare) == word:
        return f"{word} should be {right}; yours is {result}: try the longest piece first, then one letter less."
    if "".join(bare) != word:
        return f"put together, {result} is not {word}: after a piece go on exactly behind its last letter."
    return f"{word} should be {right}; yours is {result}: the longest piece from the left comes first."


def _why_unknown(word: str, right: list[str]) -> str:
    if len(word) == 100:
        return "a word of exactly 100 letters is still cut: only longer ones are [UNK]."
    if right == [word]:
        return f"{word} is in the vocabulary and yours is [UNK]: look up the whole word first, all its letters."
    return f"{word} can be cut into {right}; yours is [UNK]: behind the first piece look for pieces with ##."


@checker
def check_merge_pair(fn: Callable[[list[str], str, str], list[str]]) -> None:
    """Check fn(pieces, first, second) -> pieces in which first and second, side by side, are one."""
    cases = [
        ("t ##h ##e", "t", "##h", "th ##e"),
        ("o ##t ##h ##e ##r", "##t", "##h", "o ##th ##e ##r"),
        ("b ##a ##n ##a ##n ##a", "##a", "##n", "b ##an ##an ##a"),
        ("z ##z ##z ##z", "##z", "##z", "z ##zz ##z"),
        ("w ##e ##t", "##t", "##e", "w ##e ##t"),
        ("c ##a ##b", "a", "##b", "c ##a ##b"),
        ("a", "a", "##b", "a"),
    ]
    for before, first, second, after in cases:
        given, right = before.split(), after.split()
        try:
            result = fn(given, first, second)
        except IndexError:
            raise Mistake("your loop reads past the last piece, which has none to its right.") from None
        expect(given == before.split(), "your function changed the list it was given: build a new one.")
        expect(isinstance(result, list), "return a list of pieces.")
        if result != right:
            raise Mistake(_why_merged(given, first, second, result, right))
    print("Right: every pair is merged once, from left to right.")


def _why_merged(given: list[str], first: str, second: str, result: list[str], right: list[str]) -> str:
    if any("##" in piece.removeprefix("##") for piece in result):
        return "the ## of the second piece is still inside: t and ##h give th."
    if "".join(result).replace("##", "") != "".join(given).replace("##", ""):
        return f"letters were lost or doubled: {given} became {result}. Mind the last piece, and go on behind a pair."
    if [piece.removeprefix("##") for piece in result] == [piece.removeprefix("##") for piece in right]:
        return "the merged piece begins as its first part does: ##t and ##h give ##th."
    if len(result) > len(right):
        return f"a pair was left apart: {given} should become {right}; yours is {result}."
    return f"merging {first} and {second}, {given} should become {right}; yours is {result}."


@checker
def check_likelihood_gain(fn: Callable[[int, int, int, int], float]) -> None:
    """Check fn(pair, first, second, total) -> by how much ln p of the text rises when two pieces are merged."""
    for counts in ((30, 100, 50, 1000), (5, 40, 200, 900), (7, 60, 7, 400), (12, 12, 12, 300)):
        try:
            value = fn(*counts)
        except (ValueError, ZeroDivisionError):
            raise Mistake("where a piece is used up its count is 0, and 0 ln 0 counts as 0: treat it apart.") from None
        expect(value is not None, "return one number.")
        expect(not math.isnan(value), "the result is nan: a count of 0 has to contribute 0, since n ln n goes to 0.")
        _diagnose_gain(float(value), *counts)
    print("Right: that is how much ln p of the text rises when the two become one.")


def _n_ln(*counts: int) -> float:
    return sum(n * math.log(n) for n in counts if n)


def _diagnose_gain(value: float, pair: int, first: int, second: int, total: int) -> None:
    before = _n_ln(first, second) - _n_ln(total)
    right = _n_ln(first - pair, second - pair, pair) - _n_ln(total - pair) - before
    known = {
        -right: "the sign is wrong: take ln p after the merge, minus ln p before.",
        right / math.log(2): "this is in bits: take the natural logarithm.",
        right / total: "this is the gain of one piece on average: leave out the division by the total.",
        pair / (first * second): "this is the popular score, pair / (first x second), not the gain in likelihood.",
        math.log(pair * total / (first * second)): "this is the gain for one of the pairs: every one of them counts.",
        pair * math.log(pair * total / (first * second)): "this is as if the two pieces stayed as frequent as before: "
        "they now occur `pair` times less, and there are `pair` pieces fewer.",
        _n_ln(first - pair, second - pair, pair) - _n_ln(total) - before: "the total shrinks too: the text has `pair` "
        "pieces fewer than before.",
        _n_ln(first, second, pair) - _n_ln(total + pair) - before: "you counted the new piece and left the old ones as "
        "they were: each pair uses up one first and one second.",
    }
    if math.isclose(value, right, rel_tol=1e-4, abs_tol=1e-6):
        return
    for wrong, message in known.items():
        expect(not math.isclose(value, wrong, rel_tol=1e-4, abs_tol=1e-9), message)
    counts = f"pair={pair}, first={first}, second={second}, total={total}"
    raise Mistake(f"for {counts} the gain is {right:.4f}; yours is {value:.4f}.")


TEXTS = {
    "my dog is hairy.": "plain words and a full stop",
    "  my\tdog\n is  hairy ": "white space of all kinds",
    "My DOG": "capitals become small letters",
    "h\u00e0iry": "accents go",
    "my-dog,is(hairy)!": "punctuation stands alone",
    "my$dog^is": "so does every mark of the keyboard, such as $ and ^",
    "\u6211my\u7231": "each Chinese character stands alone",
    "my\u0000 d\u200dog": "control characters go, without leaving a gap",
    "unaffable dogs": "pieces inside a word",
    "my zebra": "a word that cannot be cut is [UNK]",
    "": "a text may be empty",
}


@checker
def check_tokenizer(cls: type) -> None:
    """Check cls(vocabulary {token: id}): ids(text), vocab_size, and the ids of [PAD], [CLS], [SEP] and [MASK]."""
    words = "my dog is hairy un ##aff ##able ##s . - , ( ) ! $ ^ a b c".split()
    tokens = [*SPECIAL_TOKENS, *words, "\u6211", "\u7231"]
    library = Tokenizer.from_vocab(tokens)
    mine = run(cls, {token: number for number, token in enumerate(tokens)})
    for text, rule in TEXTS.items():
        right = library.encode_batch([text])[0]
        _check_ids(_ids(mine, text), right, text, rule)
    for name in ("vocab_size", "pad_token_id", "cls_token_id", "sep_token_id", "mask_token_id"):
        expect(getattr(mine, name, None) == getattr(library, name), f"{name} should be {getattr(library, name)}.")
    print("Right: the library's tokenizer gives the same ids.")


def _ids(mine: Any, text: str) -> Any:
    try:
        return run(mine.ids, text)
    except KeyError as error:
        raise Mistake(f"on {text!r}, {error} is looked up and is no piece: look up what cut_word returns.") from None


def _check_ids(ids: Any, right: list[int], text: str, rule: str) -> None:
    expect(isinstance(ids, list), "ids(text) returns a list of whole numbers.")
    expect(not any(isinstance(i, str) for i in ids), "these are pieces: look up the id of each in self.vocabulary.")
    expect(not any(isinstance(i, list) for i in ids), "one list for the whole text, not one for each word.")
    special = {SPECIAL_TOKENS.index("[CLS]"), SPECIAL_TOKENS.index("[SEP]")}
    expect(not special & set(ids), "leave [CLS] and [SEP] to the function that makes the batch.")
    expect(ids == right, f"{text!r} should be {right}; yours is {ids}: {rule}.")
