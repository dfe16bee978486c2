"""Sentences of running text and of tokenised corpora."""

import re

# After these, and after initials, a full stop ends a sentence only if one of the words below follows:
# "at 5 p.m. The train left", but "at 5 p.m. Mr. Fox left".
ABBREVIATIONS = frozenset(
    "mr mrs ms messrs mme mlle dr st rev hon prof gen col capt lieut lt sgt maj sen rep gov pres esq jr sr "
    "vs viz cf e.g i.e al vol vols chap sec fig figs p pp eds approx "
    "jan feb apr aug sept oct nov dec mt ft inc ltd corp dept univ".split()
)
OPENERS = frozenset(
    "the this that these those there here he she it they we you his her its their our your my but and so yet then "
    "when while where what who why how if as after before although though since because once for from in on at by "
    "with to no not nobody one both many most some several another each every all however thus let".split()
)
SAID = "said asked cried replied answered exclaimed returned called whispered shouted began added inquired repeated"
# What ends a sentence in scripts with marks of their own: Chinese and Japanese, Devanagari and its neighbours, Arabic
# and Urdu, Armenian, Ethiopic, Burmese, Khmer, Tibetan, Mongolian, Syriac, N'Ko, Balinese, Javanese and rarer ones.
STOPS = "。！？｡।॥؟۔։።፧፨။။។៕།༎᠃᠉܀܁܂߹꧉᭟᭞꫱꯫᱾᱿෴᥄᥅᰻᰼꩝꩞꩟꓿꘎꘏᙮"
STOPS += (  # Philippine scripts, Tai Tham, Bamum, 'Phags-pa, Saurashtra, Kayah Li, small and vertical forms; dandas
    "\u061e\u1735\u1736\u1aa8-\u1aab\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ufe12\ufe15\ufe16\ufe52\ufe56\ufe57"
    "\U00011047\U00011048\U000110c0\U000110c1\U00011141-\U00011143\U000111c5\U000111c6\U00011238\U00011239"
    "\U0001144b\U0001144c\U000115c2\U000115c3\U00011641\U00011642\U0001173c-\U0001173e\U00016a6e\U00016a6f"
)
# Western: stops and closing quotes, a space, then something that can open a sentence. The others, and the question mark
# of Greek: stops and closing quotes alone.
BOUNDARY = re.compile(
    r"""(?<=\S)(?P<stop>[.!?…‼‽⁇⁈⁉]+)(?P<close>(?:[)\]"'”’»›“_]|[ \u00a0\u202f]»)*)\s+"""
    r"""(?=(?:[-–—]+\s*)?[¿¡(\["'“‘„‚«‹»_]*[$£€]?(?P<next>[^\W_][\w'’]*))"""
    rf"""|(?:[{STOPS}][{STOPS}.!?]*|．(?!\d)|(?<=[\u0370-\u03ff\u1f00-\u1fff])[;\u037e])[」』”’»›"')）\]]*\s*"""
)
SPEAKER = re.compile(rf"(?:(?:Mr|Mrs|Miss|Dr)\.?\s+)?[^\W\d_]+\s+(?:{'|'.join(SAID.split())})\b")
INITIAL = re.compile(r"(?:\w\.)*(?![\uac00-\ud7a3])[^\W\d_]")  # a syllable of Korean is a word
LIST_NUMBER = re.compile(r"\s*\d{1,2}")
BEFORE_WORD = re.compile(r"[\s(\[\"'“‘«—-]")


class Heading(str):
    """A line that begins a document, among the paragraphs of a text."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of one paragraph, with single spaces between their words.

    There is no cut after abbreviations and initials ("Mr. J. R. Smith") or before a small letter ("No!" he said).
    """
    sentences, start = [], 0
    for boundary in BOUNDARY.finditer(text):
        if boundary["stop"] and not _ends_sentence(text[start : boundary.start()], boundary):
            continue
        sentences.append(text[start : boundary.end()])
        start = boundary.end()
    sentences.append(text[start:])
    return [" ".join(sentence.split()) for sentence in sentences if sentence.strip()]


def split_text(text: str) -> list[str]:
    """Return the sentences of a text whose paragraphs are separated by blank lines."""
    return [sentence for paragraph in re.split(r"\n\s*\n", text) for sentence in split_sentences(paragraph)]


def _ends_sentence(before: str, boundary: re.Match) -> bool:
    following = boundary["next"]
    if following[0] != following[0].title():  # a small letter; those of Georgian have no capital in a title
        return False
    if boundary["stop"] != ".":
        # "Who goes there?" Ann asked.
        return not (boundary["close"] and SPEAKER.match(boundary.string, boundary.end()))
    word = BEFORE_WORD.split(before)[-1]
    if word.lower() == "no" and following[0].isdigit() or LIST_NUMBER.fullmatch(before):
        return False
    initial = INITIAL.fullmatch(word) and word != "I"
    return not (initial or word.lower() in ABBREVIATIONS) or following.lower() in OPENERS


# Spaces only, never line breaks: a line is a sentence or a paragraph of its corpus.
RULES = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in [
        (r" @([-,.])@ ", r"\1"),  # WikiText's marks within words and numbers
        (r" (n['’]t|['’] ?(?:s|t|m|d|re|ve|ll))(?!\w)", r"\1"),
        (r"(?<=['’]) (?=(?:s|t|m|d|re|ve|ll)(?!\w))", ""),
        (r"\b(gon|wan) (na)\b|\b(got) (ta)\b|\b(can) (not)\b", r"\1\2\3\4\5\6"),
        (r"([(\[{“‘$£€¥]) +", r"\1"),
        (r" +([,;:!?)\]}”’%°]|\.+)(?![^\s,.;:!?)\]}”’\"'%])", r"\1"),
        (r"(?<=\d) – (?=\d)", "–"),
        (r"(?<=\d): (?=\d\d(?!\d))", ":"),  # a time
        (r"(?<=[^\W\d_]) / (?=\w)|(?<=\d) / (?=\d)", "/"),
    ]
]
QUOTE = re.compile(r"( ?)(?<!\S)([\"'])(?!\S)( ?)")


def detokenize(text: str) -> str:
    """Return a paragraph with punctuation and endings joined to the words they belong to.

    Straight quotation marks open and close in turn; one that its paragraph leaves open is not guessed at.
    """
    text = _place_quotes(text)
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text


def _place_quotes(text: str) -> str:
    """Join each lone `"` or `'` to the word that it opens or closes."""
    is_open = {'"': False, "'": False}

    def place(match: re.Match) -> str:
        before, mark, after = match.groups()
        first, last = not before, not after  # of its line
        possessive = mark == "'" and not is_open[mark] and match.string[match.start() - 1 : match.start()] in "sSzx"
        if possessive and not first:
            return mark + after
        opens = first or not (is_open[mark] or last)
        is_open[mark] = opens
        return before + mark if opens else mark + after

    return QUOTE.sub(place, text)
