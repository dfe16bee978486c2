"""The words of a text as a search by words counts them: without endings, in one spelling, without question words.

Endings go by the Snowball stemmer for English (Porter 2001); British spelling becomes American.
"""

import re
from functools import lru_cache

from snowballstemmer import stemmer

ENGLISH = stemmer("english")
WORD = re.compile(r"[a-z0-9]+")
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
    return [stem(word) for word in WORD.findall(text.lower()) if word not in QUESTION_WORDS]


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return a lower-case word without its ending: "directories" -> "directori", "sorted" -> "sort"."""
    for british, american in AMERICAN:
        word = british.sub(american, word)
    return ENGLISH.stemWord(word)
