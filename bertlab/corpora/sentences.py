"""Where a sentence ends: rules for running text, with the abbreviations of English."""

import re

# After these, and after initials, a full stop ends a sentence only where one of the words below follows:
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
# Western: stops and closing quotes, a space, then something that can open a sentence. Chinese and
# Japanese: stops and closing quotes alone.
BOUNDARY = re.compile(
    r"""(?<=\S)(?P<stop>[.!?…]+)(?P<close>[)\]"'”’»_]*)\s+"""
    r"""(?=(?:[-–—]+\s*)?[(\["'“‘«_]*[$£€]?(?P<next>[^\W_][\w'’]*))|[。！？]+[」』”’]*\s*"""
)
SPEAKER = re.compile(rf"(?:(?:Mr|Mrs|Miss|Dr)\.?\s+)?[^\W\d_]+\s+(?:{'|'.join(SAID.split())})\b")
LIST_NUMBER = re.compile(r"\s*\d{1,2}")
LAST_WORD = re.compile(r"[^\s(\[\"'“‘«—-]*\Z")


class Heading(str):
    """A line that begins a document, among the paragraphs of a text."""


def split_sentences(text: str) -> list[str]:
    """Sentences of one paragraph, spaces and line breaks within them made single spaces.

    Not cut: after abbreviations and initials ("Mr. J. R. Smith"), before a small letter ("No!" he said).
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
    """Sentences of a text whose paragraphs stand between blank lines."""
    return [sentence for paragraph in re.split(r"\n\s*\n", text) for sentence in split_sentences(paragraph)]


def _ends_sentence(before: str, boundary: re.Match) -> bool:
    following = boundary["next"]
    if following[0].islower():
        return False
    if boundary["stop"] != ".":
        # "Who goes there?" Ann asked.
        return not (boundary["close"] and SPEAKER.match(boundary.string, boundary.end()))
    word = LAST_WORD.search(before)[0]
    if word.lower() == "no" and following[0].isdigit() or LIST_NUMBER.fullmatch(before):
        return False
    initial = re.fullmatch(r"(?:\w\.)*[^\W\d_]", word) and word != "I"
    return not (initial or word.lower() in ABBREVIATIONS) or following.lower() in OPENERS
