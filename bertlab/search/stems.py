"""The words of a text as a search by words counts them: without endings, in one spelling, without question words.

The plural goes by the rules of Harman (1991, "How effective is suffixing?"), then -ing and -ed as in step 1b of Porter
(1980), with a final e. British spelling becomes American.
"""

import re
from functools import lru_cache

WORD = re.compile(r"[a-z0-9]+")
# Unlike the usual lists, this one leaves in what names of functions are made of: first, last, find, fill, show, move.
QUESTION_WORDS = frozenset(
    "a an and any are as at be been by can could did do does for from has have how i if in into is it its me my of on"
    " or our out should so some such than that the their them then there these this those to use used using via want"
    " was way we were what when where which who why will with within would you your".split()
)
AMERICAN = {
    "isation": "ization", "ising": "izing", "ised": "ized", "ise": "ize", "colour": "color", "centre": "center",
    "neighbour": "neighbor", "behaviour": "behavior",
}  # fmt: skip
LEAST = 3  # letters of a stem


def stems(text: str) -> list[str]:
    """Return the stems of the words of a text, in order."""
    return [stem(word) for word in WORD.findall(text.lower()) if word not in QUESTION_WORDS]


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return a lower-case word without its ending: "directories" -> "directory", "sorted" -> "sort"."""
    word = _american(_singular(word))
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= LEAST and re.search("[aeiouy]", rest):
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest  # running -> run
            break
    return word[:-1] if word.endswith("e") and len(word) > LEAST else word


def _singular(word: str) -> str:
    if len(word) <= LEAST or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return f"{word[:-3]}y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]


def _american(word: str) -> str:
    ending = next((british for british in AMERICAN if word.endswith(british) and len(word) > LEAST + 2), None)
    return word.removesuffix(ending) + AMERICAN[ending] if ending else word
