"""The words of a text as a search by words counts them: without endings, in one spelling, without question words.

Endings go by the Snowball stemmer for English (Porter 2001); British spelling becomes American. Where no spaces part
words (Chinese, Japanese, Thai), or endings join them (Korean), characters and pairs of neighbours are counted.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from snowballstemmer import stemmer

from bertlab.corpora.letters import JOINERS, MARKS, UNSPACED

ENGLISH = stemmer("english")
SIGNS = UNSPACED + "\u1100-\u11ff\uac00-\ud7af"  # with Korean
RUN = re.compile(rf"(?P<signs>[{SIGNS}]+)|(?:(?![{SIGNS}])(?:[^\W_]|[{MARKS}]))+")
WITHOUT_JOINERS = str.maketrans("", "", JOINERS)
# Unlike the usual lists, this one leaves in what names of functions are made of: first, last, find, fill, show, move.
QUESTION_WORDS = frozenset(
    "a an and any are as at be been by can could did do does for from has have how i if in into is it its me my of on"
    " or our out should so some such than that the their them then there these this those to use used using via want"
    " was way we were what when where which who why will with within would you your".split()
)
AMERICAN = (
    (re.compile(r"(?<=\w{4})is(e[drs]?|ers|ing|ations?)$"), r"iz\1"),  # normalise -> normalize
    (re.compile(r"(?<=col|avi|ghb)our"), "or"),  # colour, behaviour, neighbour
    (re.compile("centre"), "center"),
)


def stems(text: str) -> list[str]:
    """Return the stems of the words of a text, in order."""
    return [stem(word) for word in _words(text) if word not in QUESTION_WORDS]


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text without regard to case and to how Unicode composes their letters."""
    plain = unicodedata.normalize("NFKC", text.casefold()).translate(WITHOUT_JOINERS)
    for run in RUN.finditer(plain):
        yield from run[0] if run["signs"] else (run[0],)
        if run["signs"]:
            yield from map("".join, pairwise(run[0]))


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return a lower-case word without its ending: "directories" -> "directori", "sorted" -> "sort"."""
    for british, american in AMERICAN:
        word = british.sub(american, word)
    return ENGLISH.stemWord(word)
